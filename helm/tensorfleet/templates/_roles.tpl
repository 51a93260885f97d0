{{/*
The roles of the cluster: (list $ dict); sets `roles` of the dict to one map for each StatefulSet:
  name      of the role: component of its labels, end of its objects' names
  job       in the ClusterSpec
  fullname  of the StatefulSet and its headless Service
  replicas  of the StatefulSet; with an autoscaler, the least
  tasks     in the ClusterSpec
  values    the role's keys over those of `defaults`
*/}}
{{- define "tensorfleet.roles" -}}
{{- $root := index . 0 -}}
{{- $v := $root.Values -}}
{{- $named := list -}}
{{- if gt (int $v.ps.replicas) 0 -}}
{{- $named = append $named (dict "name" "ps" "values" $v.ps) -}}
{{- end -}}
{{- if $v.chief.enabled -}}
{{- $named = append $named (dict "name" "chief" "values" $v.chief "replicas" 1) -}}
{{- end -}}
{{- $named = append $named (dict "name" "worker" "values" $v.worker) -}}
{{- if $v.evaluator.enabled -}}
{{- $named = append $named (dict "name" "evaluator" "values" $v.evaluator "replicas" 1) -}}
{{- end -}}
{{- range $v.workerPools -}}
{{- $named = append $named (dict "name" .name "job" (default (.name | replace "-" "_") .jobName) "values" .) -}}
{{- end -}}
{{- $roles := list -}}
{{- range $named -}}
{{- $values := deepCopy $v.defaults -}}
{{- include "tensorfleet.merge" (list $values .values) -}}
{{- if eq .name "ps" -}}
{{- $_ := set $values.gpu "enabled" false -}}
{{- end -}}
{{- include "tensorfleet.oneBudget" (list $values.podDisruptionBudget (default dict .values.podDisruptionBudget)) -}}
{{- $replicas := int (default $values.replicas .replicas) -}}
{{- if dig "autoscaling" "enabled" false $values -}}
{{- $replicas = int $values.autoscaling.minReplicas -}}
{{- end -}}
{{- $roles = append $roles (dict
    "name" .name
    "job" (default .name .job)
    "fullname" (printf "%s-%s" (include "tensorfleet.fullname" $root) .name)
    "replicas" $replicas
    "tasks" (max $replicas (int (default 0 $values.slots)) | int)
    "values" $values) -}}
{{- end -}}
{{- $_ := set (index . 1) "roles" $roles -}}
{{- end -}}

{{/* Of minAvailable and maxUnavailable, what a role sets replaces the other one of `defaults`: (list merged own). */}}
{{- define "tensorfleet.oneBudget" -}}
{{- $merged := index . 0 -}}
{{- range $key, $other := dict "minAvailable" "maxUnavailable" "maxUnavailable" "minAvailable" -}}
{{- if and (ne (toString (get (index $ 1) $key)) "") (eq (toString (get (index $ 1) $other)) "") -}}
{{- $_ := set $merged $other "" -}}
{{- end -}}
{{- end -}}
{{- if and (eq (toString $merged.minAvailable) "") (eq (toString $merged.maxUnavailable) "") -}}
{{- $_ := set $merged "maxUnavailable" 1 -}}
{{- end -}}
{{- end -}}

{{/* The labels by which a role's pods are selected: (list $ role). They can never change. */}}
{{- define "tensorfleet.roleSelector" -}}
{{ include "tensorfleet.selectorLabels" (index . 0) }}
app.kubernetes.io/component: {{ (index . 1).name | quote }}
{{- end -}}

{{/* The ClusterSpec as JSON. */}}
{{- define "tensorfleet.clusterSpec" -}}
{{- $root := . -}}
{{- $found := dict -}}
{{- include "tensorfleet.roles" (list . $found) -}}
{{- $jobs := dict -}}
{{- range $role := $found.roles -}}
{{- $addresses := list -}}
{{- range $i := until $role.tasks -}}
{{- $addresses = append $addresses (printf "%s-%d.%s.%s.svc.%s:2222" $role.fullname $i $role.fullname $root.Release.Namespace $root.Values.clusterDomain) -}}
{{- end -}}
{{- $_ := set $jobs $role.job $addresses -}}
{{- end -}}
{{- toPrettyJson $jobs -}}
{{- end -}}
