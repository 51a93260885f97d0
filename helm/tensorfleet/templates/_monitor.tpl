{{/* The parts of a PodMonitor and a ServiceMonitor that are the same: (list $ monitor's values). */}}

{{- define "tensorfleet.monitorSelector" -}}
namespaceSelector:
  matchNames:
    - {{ .Release.Namespace | quote }}
selector:
  matchLabels:
    {{- include "tensorfleet.selectorLabels" . | nindent 4 }}
  matchExpressions:
    - key: tensorfleet.io/job
      operator: Exists
{{- end -}}

{{- define "tensorfleet.monitorEndpoint" -}}
{{- $root := index . 0 -}}
{{- $monitor := index . 1 -}}
{{- $secrets := include "tensorfleet.secrets" $root | fromYaml -}}
- port: http
  path: /metrics
  {{- if $root.Values.metrics.tls.enabled }}
  scheme: https
  tlsConfig:
    {{- if $secrets.client }}
    ca:
      secret:
        {{- if $root.Values.security.issuerRef.name }}
        name: {{ include "tensorfleet.fullname" $root }}-client-tls
        key: ca.crt
        {{- else }}
        name: {{ default $secrets.client $secrets.metrics | quote }}
        key: ca.pem
        {{- end }}
    {{- end }}
    serverName: {{ printf "%s.%s" (include "tensorfleet.fullname" $root) $root.Release.Namespace | quote }}
  {{- end }}
  {{- if and (eq $root.Values.metrics.access "token") $secrets.client }}
  authorization:
    credentials:
      name: {{ default $secrets.client $secrets.metrics | quote }}
      key: token
  {{- end }}
  {{- with $monitor.interval }}
  interval: {{ . | quote }}
  {{- end }}
  {{- with $monitor.scrapeTimeout }}
  scrapeTimeout: {{ . | quote }}
  {{- end }}
  relabelings:
    - sourceLabels: [__meta_kubernetes_pod_label_app_kubernetes_io_instance]
      targetLabel: release
    - sourceLabels: [__meta_kubernetes_pod_label_tensorfleet_io_job]
      targetLabel: job
    {{- with $monitor.relabelings }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $monitor.metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
