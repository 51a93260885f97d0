{{/*
What every template begins with, as any of them may be the first: values that were set to null are refused, integers
are made integers, values that cannot work are refused. Then it is done for all templates of the chart.
*/}}
{{- define "tensorfleet.prepare" -}}
{{- if not (hasKey .Values "_prepared") -}}
{{- include "tensorfleet.refuseNull" . -}}
{{- include "tensorfleet.integers" (dict "value" .Values) -}}
{{- include "tensorfleet.validate" . -}}
{{- $_ := set .Values "_prepared" true -}}
{{- end -}}
{{- end -}}

{{/* Helm removes a value that is set to null. Where it is a map of the chart's own, templates would fail without a reason. */}}
{{- define "tensorfleet.refuseNull" -}}
{{- $values := .Values -}}
{{- range $path := fromYamlArray (include "tensorfleet.maps" .) -}}
{{- $found := $values -}}
{{- range $key := splitList "." $path -}}
{{- $found = get $found $key -}}
{{- if not (kindIs "map" $found) -}}
{{- fail (printf "%s is null or no map, and the chart needs it: leave %s out of your values to have its defaults, or set a key in it" $path $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $path, $nothing := fromYaml (include "tensorfleet.nothing" .) -}}
{{- $keys := splitList "." $path -}}
{{- $holder := $values -}}
{{- range initial $keys -}}
{{- $holder = get $holder . -}}
{{- end -}}
{{- if or (not (hasKey $holder (last $keys))) (kindIs "invalid" (get $holder (last $keys))) -}}
{{- if kindIs "invalid" $nothing -}}
{{- fail (printf "%s is null, and the chart needs a value: leave %s out of your values to have its default, or set it" $path $path) -}}
{{- end -}}
{{- $_ := set $holder (last $keys) $nothing -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What null means for a value that templates do more with than to look whether it is there; null: it has to be there. */}}
{{- define "tensorfleet.nothing" -}}
fullnameOverride: ""
clusterDomain: null
global.imagePullSecrets: []
image.repository: null
image.pullPolicy: null
image.pullSecrets: []
log.format: null
log.level: null
defaults.resources: {}
defaults.initContainers: []
defaults.sidecars: []
defaults.hostNetwork: false
defaults.terminationGracePeriodSeconds: null
defaults.drainSeconds: null
defaults.revisionHistoryLimit: null
defaults.updateStrategy.type: null
defaults.updateStrategy.rollingUpdate.maxUnavailable: ""
defaults.podDisruptionBudget.minAvailable: ""
defaults.podDisruptionBudget.maxUnavailable: ""
defaults.persistence.accessModes: null
defaults.persistence.existingClaim: ""
defaults.persistence.size: null
defaults.gpu.enabled: false
defaults.gpu.count: null
defaults.gpu.resourceName: null
ps.replicas: null
worker.replicas: null
worker.autoscaling.minReplicas: null
worker.autoscaling.maxReplicas: null
chief.enabled: false
service.type: null
client.job.args: []
client.job.container: ""
client.job.scriptKey: null
client.job.backoffLimit: null
check.timeoutSeconds: null
check.deletePolicy: null
serviceAccount.automountServiceAccountToken: false
security.enabled: null
security.mode: null
security.existingSecrets.tasks: ""
security.existingSecrets.tokens: ""
security.existingSecrets.client: ""
security.issuerRef.name: ""
security.certificateDays: null
security.hosts: []
security.rotation: ""
security.schedule: null
security.client.role: null
security.tokenReview.audience: null
security.tokenReview.serviceAccounts: {}
security.tokenReview.groups: {}
security.tokenReview.seconds: null
metrics.access: null
metrics.tls.enabled: false
gang.kind: ""
gang.scheduleTimeoutSeconds: null
{{- end -}}

{{/* The maps of values.yaml that templates look into. */}}
{{- define "tensorfleet.maps" -}}
- global
- image
- log
- clusterSpec
- defaults
- defaults.updateStrategy
- defaults.updateStrategy.rollingUpdate
- defaults.startupProbe
- defaults.readinessProbe
- defaults.livenessProbe
- defaults.podDisruptionBudget
- defaults.persistence
- defaults.persistence.retentionPolicy
- defaults.serviceAccount
- defaults.gpu
- defaults.image
- ps
- worker
- worker.autoscaling
- chief
- evaluator
- service
- service.nodePorts
- client
- client.deployment
- client.job
- check
- serviceAccount
- security
- security.existingSecrets
- security.issuerRef
- security.client
- security.tokenReview
- networkPolicy
- networkPolicy.metrics
- kueue
- gang
- metrics
- metrics.tls
- metrics.podMonitor
- metrics.serviceMonitor
- metrics.rules
- metrics.dashboard
{{- end -}}

{{/*
Numbers of a file of values are floats, which print as 2.0261122e+07: makes integers of those that are integral, in
maps in place and in `value` of the dict that it is given.
*/}}
{{- define "tensorfleet.integers" -}}
{{- $value := .value -}}
{{- if kindIs "map" $value -}}
{{- range $key, $part := $value -}}
{{- if or (kindIs "map" $part) (kindIs "slice" $part) (kindIs "float64" $part) -}}
{{- $holder := dict "value" $part -}}
{{- include "tensorfleet.integers" $holder -}}
{{- $_ := set $value $key $holder.value -}}
{{- end -}}
{{- end -}}
{{- else if kindIs "slice" $value -}}
{{- $items := list -}}
{{- range $value -}}
{{- $holder := dict "value" . -}}
{{- include "tensorfleet.integers" $holder -}}
{{- $items = append $items $holder.value -}}
{{- end -}}
{{- $_ := set . "value" $items -}}
{{- else if kindIs "float64" $value -}}
{{- if and (eq (floor $value) $value) (lt $value 9007199254740992.0) (gt $value -9007199254740992.0) -}}
{{- $_ := set . "value" (int64 $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
