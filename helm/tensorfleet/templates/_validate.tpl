{{/* Values that cannot work end the installation, with a sentence that says what to set. */}}
{{- define "tensorfleet.validate" -}}
{{- $v := .Values -}}
{{- $root := . -}}
{{- if lt (int $v.worker.replicas) 1 -}}
{{- fail (printf "worker.replicas is %d, and a cluster needs a worker: set worker.replicas to 1 or more" (int $v.worker.replicas)) -}}
{{- end -}}
{{- with $v.worker.autoscaling -}}
{{- if .enabled -}}
{{- if lt (int $v.worker.slots) (int .maxReplicas) -}}
{{- fail (printf "worker.autoscaling.enabled needs addresses in the ClusterSpec for the workers that come, and worker.slots is %d: set worker.slots to worker.autoscaling.maxReplicas (%d) or more, or worker.autoscaling.enabled to false" (int $v.worker.slots) (int .maxReplicas)) -}}
{{- end -}}
{{- if gt (int .minReplicas) (int .maxReplicas) -}}
{{- fail (printf "worker.autoscaling.minReplicas is %d, more than maxReplicas: set it to %d or less" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- if not (or .targetCPUUtilizationPercentage .targetMemoryUtilizationPercentage .metrics) -}}
{{- fail "worker.autoscaling has nothing to aim at: set worker.autoscaling.targetCPUUtilizationPercentage, targetMemoryUtilizationPercentage or metrics" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "tensorfleet.validatePools" . -}}
{{- include "tensorfleet.validateNames" . -}}
{{- include "tensorfleet.validateCommon" . -}}
{{- include "tensorfleet.validateCapabilities" . -}}
{{- $found := dict -}}
{{- include "tensorfleet.roles" (list . $found) -}}
{{- $jobs := dict -}}
{{- range $role := $found.roles -}}
{{- $path := has $role.name (list "ps" "worker" "chief" "evaluator") | ternary $role.name (printf "workerPools (name %s)" $role.name) -}}
{{- if hasKey $jobs $role.job -}}
{{- fail (printf "%s and %s are both job %q of the ClusterSpec: set another jobName for one of them" (get $jobs $role.job) $path $role.job) -}}
{{- end -}}
{{- $_ := set $jobs $role.job $path -}}
{{- include "tensorfleet.validateRole" (list $root $path $role) -}}
{{- end -}}
{{- include "tensorfleet.validateSecurity" . -}}
{{- if and $v.client.job.enabled (not $v.client.job.script) (not $v.client.job.existingConfigMap) -}}
{{- fail "client.job.enabled needs a program: set client.job.script (--set-file client.job.script=main.py), or client.job.existingConfigMap" -}}
{{- end -}}
{{- if and $v.metrics.podMonitor.enabled $v.metrics.serviceMonitor.enabled -}}
{{- fail "metrics.podMonitor and metrics.serviceMonitor would scrape each task twice: set enabled of one of them to false" -}}
{{- end -}}
{{- end -}}

{{- define "tensorfleet.validatePools" -}}
{{- $names := list "ps" "worker" "chief" "evaluator" "client" "check" "job" "credentials" -}}
{{- range $i, $pool := .Values.workerPools -}}
{{- if has $pool.name $names -}}
{{- fail (printf "workerPools[%d].name is %q, which another pool or a part of the chart has: set another name" $i $pool.name) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $pool.name) -}}
{{- fail (printf "workerPools[%d].name is %q: set it to small letters, digits and -, a letter first" $i $pool.name) -}}
{{- end -}}
{{- if not (regexMatch "^[A-Za-z][A-Za-z0-9_]*$" (default "job" $pool.jobName)) -}}
{{- fail (printf "workerPools[%d].jobName is %q: set it to letters, digits and _, a letter first, as names of jobs are" $i $pool.jobName) -}}
{{- end -}}
{{- $names = append $names $pool.name -}}
{{- end -}}
{{- end -}}

{{- define "tensorfleet.validateRole" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $role := index . 2 -}}
{{- $values := $role.values -}}
{{- if lt $role.replicas 1 -}}
{{- fail (printf "%s.replicas is %d: set it to 1 or more, or remove the pool" $path $role.replicas) -}}
{{- end -}}
{{- if gt (len $role.fullname) 52 -}}
{{- fail (printf "the name %q has %d characters, and a StatefulSet's may have 52: set a shorter fullnameOverride, or a shorter name of the pool" $role.fullname (len $role.fullname)) -}}
{{- end -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $role.fullname) -}}
{{- fail (printf "%q is no name for a Service (small letters, digits and -, a letter first): set fullnameOverride" $role.fullname) -}}
{{- end -}}
{{- if ge (float64 $values.drainSeconds) (float64 $values.terminationGracePeriodSeconds) -}}
{{- fail (printf "%s.drainSeconds is %v, and Kubernetes kills the task after terminationGracePeriodSeconds (%v): set terminationGracePeriodSeconds to more than drainSeconds" $path $values.drainSeconds $values.terminationGracePeriodSeconds) -}}
{{- end -}}
{{- include "tensorfleet.validateBudget" (list $path $role) -}}
{{- include "tensorfleet.validateGpus" (list $path $role) -}}
{{- include "tensorfleet.validateParts" (list $root $path $values) -}}
{{- if and $values.persistence.enabled (not (regexMatch "^([0-9]+([.][0-9]*)?|[.][0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?$" (toString $values.persistence.size))) -}}
{{- fail (printf "%s.persistence.size is %q, which is no size: set it to a number with a unit, such as 8Gi" $path (toString $values.persistence.size)) -}}
{{- end -}}
{{- $rolling := $values.updateStrategy.rollingUpdate -}}
{{- if not (regexMatch "^([0-9]+%?)?$" (toString $rolling.maxUnavailable)) -}}
{{- fail (printf "%s.updateStrategy.rollingUpdate.maxUnavailable is %q: set it to a number of pods or a percentage, such as 1 or 50%%" $path (toString $rolling.maxUnavailable)) -}}
{{- end -}}
{{- if has (toString $rolling.maxUnavailable) (list "0" "0%") -}}
{{- fail (printf "%s.updateStrategy.rollingUpdate.maxUnavailable is %v, and no pod could ever be updated: set it to 1 or more" $path $rolling.maxUnavailable) -}}
{{- end -}}
{{- if and $values.gpu.enabled (lt (int $values.gpu.count) 1) -}}
{{- fail (printf "%s.gpu.count is %d: set it to the number of GPUs of each pod, 1 or more, or %s.gpu.enabled to false" $path (int $values.gpu.count) $path) -}}
{{- end -}}
{{- if and (gt (int (default 0 $values.slots)) 0) (lt (int $values.slots) $role.replicas) -}}
{{- fail (printf "%s.slots is %d, less than its replicas: set it to %d or more, or to 0" $path (int $values.slots) $role.replicas) -}}
{{- end -}}
{{- end -}}
