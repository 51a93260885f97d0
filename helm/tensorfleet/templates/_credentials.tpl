{{/* The pod that fills the Secrets: at the installation, when something of it changes, and day by day. */}}

{{- define "tensorfleet.credentialsArgs" -}}
{{- $root := . -}}
{{- $secrets := include "tensorfleet.secrets" . | fromYaml -}}
{{- $args := list -}}
{{- if $secrets.ca -}}
{{- $args = list "--cluster-spec=/etc/tensorfleet/cluster.json" (printf "--ca=%s" $secrets.ca) -}}
{{- $found := dict -}}
{{- include "tensorfleet.roles" (list $root $found) -}}
{{- range $found.roles -}}
{{- $args = append $args (printf "--tasks=%s=%s-tls" .job .fullname) -}}
{{- end -}}
{{- $args = append $args (printf "--cluster=%s" (include "tensorfleet.clusterIdentity" .)) -}}
{{- $args = append $args (printf "--trust-domain=%s" (include "tensorfleet.trustDomain" .)) -}}
{{- range fromYamlArray (include "tensorfleet.commonHosts" .) -}}
{{- $args = append $args (printf "--host=%s" .) -}}
{{- end -}}
{{- $args = append $args (printf "--days=%v" .Values.security.certificateDays) -}}
{{- $args = append $args (printf "--rotation=%s" .Values.security.rotation) -}}
{{- end -}}
{{- if or $secrets.ca $secrets.makeTokens -}}
{{- $args = append $args (printf "--client=%s" $secrets.client) -}}
{{- end -}}
{{- if $secrets.makeTokens -}}
{{- $args = concat $args (list (printf "--tokens=%s" $secrets.tokens) (printf "--role=%s" .Values.security.client.role)) -}}
{{- end -}}
{{- with $secrets.metrics -}}
{{- $args = append $args (printf "--reader=metrics=%s" .) -}}
{{- end -}}
{{- if $secrets.makeSecret -}}
{{- $args = append $args (printf "--secret=%s" $secrets.secret) -}}
{{- end -}}
{{- toYaml $args -}}
{{- end -}}

{{/* The Secrets that the chart makes without data, and the pod fills: a list. */}}
{{- define "tensorfleet.filledSecrets" -}}
{{- $secrets := include "tensorfleet.secrets" . | fromYaml -}}
{{- $names := list -}}
{{- if $secrets.ca -}}
{{- $names = append $names $secrets.ca -}}
{{- $found := dict -}}
{{- include "tensorfleet.roles" (list . $found) -}}
{{- range $found.roles -}}
{{- $names = append $names (printf "%s-tls" .fullname) -}}
{{- end -}}
{{- end -}}
{{- if $secrets.makeClient -}}{{- $names = append $names $secrets.client -}}{{- end -}}
{{- if $secrets.makeTokens -}}{{- $names = append $names $secrets.tokens -}}{{- end -}}
{{- if $secrets.makeSecret -}}{{- $names = append $names $secrets.secret -}}{{- end -}}
{{- if $secrets.metrics -}}{{- $names = append $names $secrets.metrics -}}{{- end -}}
{{- toYaml $names -}}
{{- end -}}

{{- define "tensorfleet.credentialsPod" -}}
{{- $values := deepCopy .Values.defaults -}}
{{- /* Of the keys of tasks those that say where and as whom a pod runs; what they mount and run beside is theirs. */ -}}
{{- range list "initContainers" "sidecars" "topologySpreadConstraints" "extraEnv" "extraEnvFrom" "resourceClaims" -}}
{{- $_ := set $values . list -}}
{{- end -}}
{{- $_ := set $values "lifecycle" dict -}}
{{- $_ := set $values "hostNetwork" false -}}
{{- $_ := set $values "serviceAccount" (dict "create" false "name" (printf "%s-credentials" (include "tensorfleet.fullname" .))) -}}
{{- $_ := set $values "automountServiceAccountToken" true -}}
{{- $selector := printf "%s\napp.kubernetes.io/component: credentials" (include "tensorfleet.selectorLabels" .) -}}
metadata:
  labels:
    {{- include "tensorfleet.overlay" (list . .Values.commonLabels $selector) | nindent 4 }}
spec:
  restartPolicy: OnFailure
  {{- include "tensorfleet.podFields" (list . $values $selector "credentials") | nindent 2 }}
  containers:
    - name: credentials
      {{- include "tensorfleet.containerFields" (list . $values) | nindent 6 }}
      command: [python, -m, tensorfleet.kube.credentials]
      args:
        {{- include "tensorfleet.credentialsArgs" . | nindent 8 }}
      resources:
        requests:
          cpu: 50m
          memory: 64Mi
      volumeMounts:
        - name: cluster-spec
          mountPath: /etc/tensorfleet
          readOnly: true
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: cluster-spec
      configMap:
        name: {{ include "tensorfleet.fullname" . }}-cluster-spec
    - name: tmp
      emptyDir: {}
{{- end -}}
