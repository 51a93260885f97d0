{{/* Labels for schedulers that start all tasks together or none. */}}

{{- define "tensorfleet.kueueLabels" -}}
{{- with .Values.kueue.queueName -}}
kueue.x-k8s.io/queue-name: {{ . | quote }}
{{ end -}}
{{- with .Values.kueue.priorityClass -}}
kueue.x-k8s.io/priority-class: {{ . | quote }}
{{- end -}}
{{- end -}}

{{- define "tensorfleet.gangLabels" -}}
{{- if eq .Values.gang.kind "coscheduling" -}}
scheduling.x-k8s.io/pod-group: {{ include "tensorfleet.fullname" . | quote }}
{{- end -}}
{{- end -}}
