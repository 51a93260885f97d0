{{/* Names, labels and the small parts that several templates share. */}}

{{- define "tensorfleet.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end -}}

{{/*
At most 40 characters: the names of StatefulSets, which end in their role, may have 52. A longer name ends in a hash
of the whole, so that two releases do not meet.
*/}}
{{- define "tensorfleet.fullname" -}}
{{- $name := include "tensorfleet.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $whole := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) | replace "." "-" -}}
{{- if gt (len $whole) 40 -}}
{{- printf "%s-%s" (trunc 31 $whole | trimSuffix "-") (sha256sum $whole | trunc 8) -}}
{{- else -}}
{{- trimSuffix "-" $whole -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tensorfleet.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tensorfleet.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Maps, or their text as YAML, as one: (list $ map…). A later one wins. */}}
{{- define "tensorfleet.overlay" -}}
{{- $all := dict -}}
{{- range rest . -}}
{{- $map := . -}}
{{- if kindIs "string" . -}}
{{- $map = fromYaml . -}}
{{- end -}}
{{- range $key, $value := $map -}}
{{- $_ := set $all $key $value -}}
{{- end -}}
{{- end -}}
{{- with $all -}}
{{- include "tensorfleet.render" (list (index $ 0) .) -}}
{{- end -}}
{{- end -}}

{{/* Labels of an object: (list $ "component" map…). */}}
{{- define "tensorfleet.labels" -}}
{{- $root := index . 0 -}}
{{- $own := include "tensorfleet.ownLabels" . -}}
{{- include "tensorfleet.overlay" (concat (list $root $root.Values.commonLabels) (slice . 2) (list $own)) -}}
{{- end -}}

{{- define "tensorfleet.ownLabels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "tensorfleet.selectorLabels" $root }}
app.kubernetes.io/component: {{ index . 1 | quote }}
app.kubernetes.io/part-of: {{ include "tensorfleet.name" $root | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
{{- end -}}

{{/* The annotations of an object, if there are any: (list $ map…). */}}
{{- define "tensorfleet.annotations" -}}
{{- $root := index . 0 -}}
{{- with include "tensorfleet.overlay" (concat (list $root $root.Values.commonAnnotations) (rest .)) -}}
annotations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A value as YAML, with the templates in its text evaluated: (list $ value). */}}
{{- define "tensorfleet.render" -}}
{{- tpl (toYaml (index . 1)) (index . 0) -}}
{{- end -}}

{{/* The same under a key, and nothing if the value is empty: (list $ "key" value). */}}
{{- define "tensorfleet.field" -}}
{{- $root := index . 0 -}}
{{- $key := index . 1 -}}
{{- with index . 2 }}
{{ $key }}:
  {{- include "tensorfleet.render" (list $root .) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The label of pods that may talk to the tasks. */}}
{{- define "tensorfleet.clientLabel" -}}
{{ printf "%s-client" .Release.Name }}: "true"
{{- end -}}

{{/* The ServiceAccount of all roles without one of their own. */}}
{{- define "tensorfleet.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tensorfleet.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The ServiceAccount of a role: (list $ role's values "name of the role"). */}}
{{- define "tensorfleet.roleServiceAccountName" -}}
{{- $root := index . 0 -}}
{{- $own := (index . 1).serviceAccount -}}
{{- if $own.name -}}
{{- $own.name -}}
{{- else if $own.create -}}
{{- printf "%s-%s" (include "tensorfleet.fullname" $root) (index . 2) -}}
{{- else -}}
{{- include "tensorfleet.serviceAccountName" $root -}}
{{- end -}}
{{- end -}}

{{/* The target of clients' sessions. */}}
{{- define "tensorfleet.address" -}}
{{- printf "grpc://%s.%s:2222" (include "tensorfleet.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* The image of a role: (list $ role's image). A role with a repository or tag of its own takes no digest from `image`. */}}
{{- define "tensorfleet.image" -}}
{{- $root := index . 0 -}}
{{- $own := index . 1 -}}
{{- $image := deepCopy $root.Values.image -}}
{{- if or $own.repository $own.tag -}}
{{- $_ := set $image "digest" "" -}}
{{- end -}}
{{- include "tensorfleet.merge" (list $image $own) -}}
{{- $tag := default $root.Chart.AppVersion $image.tag | toString -}}
{{- with default $image.registry $root.Values.global.imageRegistry -}}{{ . }}/{{- end -}}
{{- $image.repository -}}
{{- if $image.digest -}}@{{ $image.digest }}{{- else -}}:{{ $tag }}{{- end -}}
{{- end -}}

{{/* Writes a map over another one, in place: (list into from). Unlike mergeOverwrite it lets false and 0 win. */}}
{{- define "tensorfleet.merge" -}}
{{- $into := index . 0 -}}
{{- range $key, $value := index . 1 -}}
{{- if and (kindIs "map" $value) (kindIs "map" (get $into $key)) -}}
{{- include "tensorfleet.merge" (list (get $into $key) $value) -}}
{{- else -}}
{{- $_ := set $into $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
