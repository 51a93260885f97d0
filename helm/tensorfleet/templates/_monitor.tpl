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
- port: http
  path: /metrics
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
