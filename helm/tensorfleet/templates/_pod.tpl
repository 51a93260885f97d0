{{/* What tasks and clients have in common. */}}

{{/* The values of a client: `defaults` with the keys of a role over them: (list $ role's values dict). Sets `values`. */}}
{{- define "tensorfleet.clientValues" -}}
{{- $values := deepCopy (index . 0).Values.defaults -}}
{{- include "tensorfleet.merge" (list $values (index . 1)) -}}
{{- $_ := set (index . 2) "values" $values -}}
{{- end -}}

{{/* The fields of a pod besides its containers and volumes: (list $ values selectorLabels "name of the role"). */}}
{{- define "tensorfleet.podFields" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $selector := index . 2 -}}
serviceAccountName: {{ include "tensorfleet.roleServiceAccountName" (list $root $values (index . 3)) | quote }}
automountServiceAccountToken: {{ or $values.automountServiceAccountToken $root.Values.serviceAccount.automountServiceAccountToken }}
# Kubernetes would set TENSORFLEET_PORT and the like for a Service named tensorfleet.
enableServiceLinks: false
{{- with concat $root.Values.global.imagePullSecrets $root.Values.image.pullSecrets (default list $values.image.pullSecrets) | uniq }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.schedulerName }}
schedulerName: {{ . | quote }}
{{- end }}
{{- with $values.runtimeClassName }}
runtimeClassName: {{ . | quote }}
{{- end }}
{{- if $values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with default (ternary "ClusterFirstWithHostNet" "" $values.hostNetwork) $values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- include "tensorfleet.field" (list $root "dnsConfig" $values.dnsConfig) }}
{{- include "tensorfleet.field" (list $root "hostAliases" $values.hostAliases) }}
{{- include "tensorfleet.field" (list $root "resourceClaims" $values.resourceClaims) }}
{{- include "tensorfleet.field" (list $root "securityContext" $values.podSecurityContext) }}
{{- include "tensorfleet.field" (list $root "affinity" $values.affinity) }}
{{- include "tensorfleet.field" (list $root "nodeSelector" $values.nodeSelector) }}
{{- include "tensorfleet.field" (list $root "tolerations" $values.tolerations) }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  {{- $constraint := deepCopy . }}
  {{- if not $constraint.labelSelector }}
  {{- $_ := set $constraint "labelSelector" (dict "matchLabels" (fromYaml $selector)) }}
  {{- end }}
  - {{- include "tensorfleet.render" (list $root $constraint) | nindent 4 }}
  {{- end }}
{{- end }}
{{- include "tensorfleet.field" (list $root "initContainers" $values.initContainers) }}
{{- end -}}

{{/* The fields of a container that both have: (list $ values). */}}
{{- define "tensorfleet.containerFields" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
image: {{ include "tensorfleet.image" (list $root $values.image) }}
imagePullPolicy: {{ default $root.Values.image.pullPolicy $values.image.pullPolicy }}
{{- include "tensorfleet.field" (list $root "securityContext" $values.securityContext) }}
{{- include "tensorfleet.field" (list $root "envFrom" $values.extraEnvFrom) }}
{{- include "tensorfleet.field" (list $root "lifecycle" $values.lifecycle) }}
{{- end -}}

{{/*
A client's pod template: (list $ values "component" "container" its command and arguments as YAML, a map with its
mounts, volumes and env, or nil).
*/}}
{{- define "tensorfleet.clientPod" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $component := index . 2 -}}
{{- $selector := printf "%s\napp.kubernetes.io/component: %s" (include "tensorfleet.selectorLabels" $root) $component -}}
metadata:
  labels:
    {{- include "tensorfleet.overlay" (list $root $root.Values.commonLabels $values.podLabels (include "tensorfleet.clientLabel" $root) $selector) | nindent 4 }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- include "tensorfleet.render" (list $root .) | nindent 4 }}
  {{- end }}
spec:
  {{- include "tensorfleet.podFields" (list $root $values $selector (eq $component "job" | ternary "client" $component)) | nindent 2 }}
  {{- include "tensorfleet.clientContainers" . | nindent 2 }}
{{- end -}}

{{- define "tensorfleet.clientContainers" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $security := include "tensorfleet.clientSecurity" $root | fromYaml -}}
{{- $extra := list -}}
{{- range $values.extraEnv -}}
{{- $extra = append $extra .name -}}
{{- end -}}
{{- $env := list -}}
{{- range concat (list (dict "name" "TENSORFLEET_ADDRESS" "value" (include "tensorfleet.address" $root))) $security.env (dig "env" list (default dict (index . 5))) -}}
{{- if not (has .name $extra) -}}
{{- $env = append $env . -}}
{{- end -}}
{{- end -}}
{{- $home := "/var/lib/tensorfleet" -}}
{{- range $values.extraVolumeMounts -}}
{{- if eq .mountPath $home -}}
{{- $home = "" -}}
{{- end -}}
{{- end -}}
containers:
  - name: {{ index . 3 }}
    {{- include "tensorfleet.containerFields" (list $root $values) | nindent 4 }}
    {{- index . 4 | nindent 4 }}
    env:
      {{- toYaml $env | nindent 6 }}
      {{- with $values.extraEnv }}
      {{- include "tensorfleet.render" (list $root .) | nindent 6 }}
      {{- end }}
    {{- with include "tensorfleet.field" (list $root "resources" $values.resources) }}{{ . | trim | nindent 4 }}{{- end }}
    volumeMounts:
      - name: tmp
        mountPath: /tmp
      {{- with $home }}
      - name: home
        mountPath: {{ . }}
      {{- end }}
      {{- if $security.volumes }}
      {{- include "tensorfleet.credentialsMount" $root | nindent 6 }}
      {{- end }}
      {{- with index . 5 }}
      {{- include "tensorfleet.render" (list $root .mounts) | nindent 6 }}
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- include "tensorfleet.render" (list $root .) | nindent 6 }}
      {{- end }}
  {{- with $values.sidecars }}
  {{- include "tensorfleet.render" (list $root .) | nindent 2 }}
  {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- if $home }}
  - name: home
    emptyDir: {}
  {{- end }}
  {{- with $security.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with index . 5 }}
  {{- include "tensorfleet.render" (list $root .volumes) | nindent 2 }}
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- include "tensorfleet.render" (list $root .) | nindent 2 }}
  {{- end }}
{{- end -}}
