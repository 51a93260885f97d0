{{/* What is particular to the pod of a task. */}}

{{- define "tensorfleet.taskAnnotations" -}}
kubectl.kubernetes.io/default-container: task
{{- if .Values.clusterSpec.restartOnChange }}
checksum/cluster-spec: {{ include "tensorfleet.clusterSpec" . | sha256sum | quote }}
{{- end }}
{{- if .Values.metrics.scrapeAnnotations }}
prometheus.io/scrape: "true"
prometheus.io/port: "8080"
prometheus.io/path: /metrics
{{- if .Values.metrics.tls.enabled }}
prometheus.io/scheme: https
{{- end }}
{{- end }}
{{- if eq .Values.gang.kind "volcano" }}
scheduling.k8s.io/group-name: {{ include "tensorfleet.fullname" . | quote }}
{{- end }}
{{- end -}}

{{/* The container of a task, as the item of a list: (list $ role). */}}
{{- define "tensorfleet.taskContainer" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := $role.values -}}
{{- $resources := deepCopy $values.resources -}}
{{- if $values.gpu.enabled -}}
{{- $limits := default dict $resources.limits -}}
{{- $_ := set $limits $values.gpu.resourceName (int $values.gpu.count) -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
- name: task
  {{- include "tensorfleet.containerFields" (list $root $values) | nindent 2 }}
  {{- with include "tensorfleet.field" (list $root "command" $values.command) }}{{ . | trim | nindent 2 }}{{- end }}
  args:
    - serve
    {{- with $values.extraArgs }}
    {{- include "tensorfleet.render" (list $root .) | nindent 4 }}
    {{- end }}
  ports:
    - name: grpc
      containerPort: 2222
    - name: stream
      containerPort: 2223
    - name: http
      containerPort: 8080
  env:
    {{- include "tensorfleet.taskEnv" . | nindent 4 }}
  {{- with include "tensorfleet.field" (list $root "resources" $resources) }}{{ . | trim | nindent 2 }}{{- end }}
  {{- range $probe, $path := dict "startupProbe" "startup" "readinessProbe" "ready" "livenessProbe" "live" }}
  {{- $settings := get $values $probe }}
  {{- if $settings.enabled }}
  {{ $probe }}:
    httpGet:
      path: /healthz/{{ $path }}
      port: http
      {{- if $root.Values.metrics.tls.enabled }}
      scheme: HTTPS
      {{- end }}
    {{- toYaml (omit $settings "enabled") | nindent 4 }}
  {{- end }}
  {{- end }}
  volumeMounts:
    - name: cluster-spec
      mountPath: /etc/tensorfleet
      readOnly: true
    - name: tmp
      mountPath: /tmp
    - name: data
      mountPath: /var/lib/tensorfleet
    {{- if include "tensorfleet.taskCredentials" . }}
    {{- include "tensorfleet.credentialsMount" $root | nindent 4 }}
    {{- end }}
    {{- with $values.extraVolumeMounts }}
    {{- include "tensorfleet.render" (list $root .) | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Its environment: (list $ role). What extraEnv has is not there twice, which Kubernetes may refuse. */}}
{{- define "tensorfleet.taskEnv" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := $role.values -}}
{{- $index := dict "fieldRef" (dict "fieldPath" "metadata.labels['apps.kubernetes.io/pod-index']") -}}
{{- $own := list
    (dict "name" "TENSORFLEET_JOB_NAME" "value" $role.job)
    (dict "name" "TENSORFLEET_TASK_INDEX" "valueFrom" $index)
    (dict "name" "TENSORFLEET_CLUSTER_SPEC" "value" "@/etc/tensorfleet/cluster.json")
    (dict "name" "TENSORFLEET_BIND_HOST" "value" "0.0.0.0")
    (dict "name" "TENSORFLEET_STREAM_PORT" "value" "2223")
    (dict "name" "TENSORFLEET_METRICS_PORT" "value" "8080")
    (dict "name" "TENSORFLEET_GPUS" "value" (ternary $values.gpu.count "none" $values.gpu.enabled | toString))
    (dict "name" "TENSORFLEET_WRITE_PATHS" "value" "/var/lib/tensorfleet:/tmp")
    (dict "name" "TENSORFLEET_LOG_FORMAT" "value" $root.Values.log.format)
    (dict "name" "TENSORFLEET_LOG_LEVEL" "value" $root.Values.log.level)
    (dict "name" "TENSORFLEET_DRAIN_SECONDS" "value" (toString $values.drainSeconds)) -}}
{{- $own = concat $own (fromYamlArray (include "tensorfleet.taskSecurityEnv" .)) -}}
{{- $extra := list -}}
{{- range $values.extraEnv -}}
{{- $extra = append $extra .name -}}
{{- end -}}
{{- $env := list -}}
{{- range $own -}}
{{- if not (has .name $extra) -}}
{{- $env = append $env . -}}
{{- end -}}
{{- end -}}
{{- toYaml $env }}
{{- with $values.extraEnv }}
{{ include "tensorfleet.render" (list $root .) }}
{{- end -}}
{{- end -}}
