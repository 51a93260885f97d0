{{/* Who may come: what tasks and clients are given to show it, and the Secrets that it lies in. */}}

{{/* Which Secrets there are: ($). `make` is whether the chart makes them; the others are names, "" for none. */}}
{{- define "tensorfleet.secrets" -}}
{{- $fullname := include "tensorfleet.fullname" . -}}
{{- $security := .Values.security -}}
{{- $existing := $security.existingSecrets -}}
{{- $tls := and $security.enabled (eq $security.mode "tls") -}}
{{- $shared := and $security.enabled (eq $security.mode "secret") -}}
{{- $managed := and $tls (ne $security.issuerRef.name "") -}}
{{- dict
    "ca" (ternary (printf "%s-ca" $fullname) "" (and $tls (not $managed) (not $existing.tasks)))
    "client" (ternary (default (printf "%s-client" $fullname) $existing.client) "" $tls)
    "makeClient" (and $tls (not $existing.client))
    "tokens" (ternary (default (printf "%s-tokens" $fullname) $existing.tokens) "" $tls)
    "makeTokens" (and $tls (not $existing.tokens))
    "metrics" (ternary (printf "%s-metrics" $fullname) "" (and $tls (not $existing.client) (or .Values.metrics.tls.enabled (eq .Values.metrics.access "token"))))
    "secret" (ternary (default (printf "%s-cluster-secret" $fullname) $existing.tasks) "" $shared)
    "makeSecret" (and $shared (not $existing.tasks))
    | toYaml -}}
{{- end -}}

{{/* Whether a Job of the chart fills Secrets: "true" or "". */}}
{{- define "tensorfleet.fillsSecrets" -}}
{{- $secrets := include "tensorfleet.secrets" . | fromYaml -}}
{{- if or $secrets.ca $secrets.makeTokens $secrets.makeSecret }}true{{ end -}}
{{- end -}}

{{/* The trust domain and the cluster of the identities. */}}
{{- define "tensorfleet.trustDomain" -}}
{{- default .Values.clusterDomain .Values.security.trustDomain -}}
{{- end -}}
{{- define "tensorfleet.clusterIdentity" -}}
{{- printf "%s.%s" .Release.Namespace (include "tensorfleet.fullname" .) -}}
{{- end -}}

{{/* Names and addresses of every task besides its own, as a list: those of the Service, and this machine's for forwarded ports. */}}
{{- define "tensorfleet.commonHosts" -}}
{{- $name := include "tensorfleet.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- concat
    (list $name (printf "%s.%s" $name $ns) (printf "%s.%s.svc" $name $ns) (printf "%s.%s.svc.%s" $name $ns .Values.clusterDomain))
    (list "localhost" "127.0.0.1" "::1")
    .Values.security.hosts | uniq | toYaml -}}
{{- end -}}

{{/* Where the files are, in tasks and clients. */}}
{{- define "tensorfleet.credentialsPath" -}}/run/secrets/tensorfleet{{- end -}}

{{/* The keys of a Secret as files of the same names: (list "secret" key…), one source of a projected volume. */}}
{{- define "tensorfleet.secretSource" -}}
{{- $items := list -}}
{{- range rest . -}}
{{- $items = append $items (dict "key" . "path" .) -}}
{{- end -}}
{{- dict "secret" (dict "name" (first .) "items" $items) | toYaml -}}
{{- end -}}

{{/* A certificate that cert-manager has made, as files: (list "secret" "name of the files" withCa). */}}
{{- define "tensorfleet.managedSource" -}}
{{- $name := index . 1 -}}
{{- $items := list
    (dict "key" "tls.crt" "path" (printf "%s.pem" $name))
    (dict "key" "tls.key" "path" (printf "%s-key.pem" $name)) -}}
{{- if index . 2 -}}
{{- $items = append $items (dict "key" "ca.crt" "path" "ca.pem") -}}
{{- end -}}
{{- dict "secret" (dict "name" (index . 0) "items" $items) | toYaml -}}
{{- end -}}

{{/*
The volume of a role's tasks: (list $ role); nothing where they are given nothing. A pod waits until its Secrets have
the keys that are named, so no task starts before the Job has made its certificate.
*/}}
{{- define "tensorfleet.taskCredentials" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $security := $root.Values.security -}}
{{- $secrets := include "tensorfleet.secrets" $root | fromYaml -}}
{{- $sources := list -}}
{{- if $secrets.secret -}}
{{- $sources = append $sources (include "tensorfleet.secretSource" (list $secrets.secret "cluster-secret") | fromYaml) -}}
{{- else if $secrets.tokens -}}
{{- $sources = append $sources (include "tensorfleet.secretSource" (list $secrets.tokens "tokens.json") | fromYaml) -}}
{{- if $security.issuerRef.name -}}
{{- range $i := until $role.tasks -}}
{{- $sources = append $sources (include "tensorfleet.managedSource" (list (printf "%s-%d-tls" $role.fullname $i) (printf "%s-%d" $role.job $i) (eq $i 0)) | fromYaml) -}}
{{- end -}}
{{- else -}}
{{- $secret := default (printf "%s-tls" $role.fullname) $security.existingSecrets.tasks -}}
{{- if $root.Values.clusterSpec.restartOnChange -}}
{{- $keys := list "ca.pem" -}}
{{- range $i := until $role.tasks -}}
{{- $keys = concat $keys (list (printf "%s-%d.pem" $role.job $i) (printf "%s-%d-key.pem" $role.job $i)) -}}
{{- end -}}
{{- $sources = append $sources (include "tensorfleet.secretSource" (prepend $keys $secret) | fromYaml) -}}
{{- else -}}
{{- /* Other keys would be another template, and restart the pods. */ -}}
{{- $sources = append $sources (dict "secret" (dict "name" $secret "items" (list (dict "key" "ca.pem" "path" "there/ca.pem")))) -}}
{{- $sources = append $sources (dict "secret" (dict "name" $secret)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $sources -}}
{{- dict "name" "credentials" "projected" (dict "defaultMode" 288 "sources" .) | toYaml -}}
{{- end -}}
{{- end -}}

{{/* The environment variables of a task, as a list: (list $ role). */}}
{{- define "tensorfleet.taskSecurityEnv" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $secrets := include "tensorfleet.secrets" $root | fromYaml -}}
{{- $path := include "tensorfleet.credentialsPath" $root -}}
{{- $own := printf "%s/%s-$(TENSORFLEET_TASK_INDEX)" $path $role.job -}}
{{- $env := list -}}
{{- if not $root.Values.security.enabled -}}
{{- $env = append $env (dict "name" "TENSORFLEET_INSECURE" "value" "yes") -}}
{{- else if $secrets.secret -}}
{{- $env = append $env (dict "name" "TENSORFLEET_CLUSTER_SECRET_FILE" "value" (printf "%s/cluster-secret" $path)) -}}
{{- else if $secrets.tokens -}}
{{- $env = list
    (dict "name" "TENSORFLEET_TLS_CERT" "value" (printf "%s.pem" $own))
    (dict "name" "TENSORFLEET_TLS_KEY" "value" (printf "%s-key.pem" $own))
    (dict "name" "TENSORFLEET_TLS_CA" "value" (printf "%s/ca.pem" $path))
    (dict "name" "TENSORFLEET_TOKENS" "value" (printf "%s/tokens.json" $path)) -}}
{{- end -}}
{{- with $root.Values.security.tokenReview -}}
{{- if .enabled -}}
{{- $rules := dict "audience" .audience "accounts" .serviceAccounts "groups" .groups "seconds" .seconds -}}
{{- $env = append $env (dict "name" "TENSORFLEET_TOKEN_REVIEW" "value" (toJson $rules)) -}}
{{- end -}}
{{- end -}}
{{- if $root.Values.metrics.tls.enabled -}}
{{- $env = append $env (dict "name" "TENSORFLEET_METRICS_TLS" "value" "yes") -}}
{{- end -}}
{{- if ne $root.Values.metrics.access "open" -}}
{{- $env = append $env (dict "name" "TENSORFLEET_METRICS_ACCESS" "value" $root.Values.metrics.access) -}}
{{- end -}}
{{- $env | toYaml -}}
{{- end -}}

{{/*
What a client needs: ($), a map of `env` and `volumes`, lists. The ConfigMap of the ClusterSpec has it, too, for
`tensorfleet submit` and `connect`.
*/}}
{{- define "tensorfleet.clientSecurity" -}}
{{- $secrets := include "tensorfleet.secrets" . | fromYaml -}}
{{- $path := include "tensorfleet.credentialsPath" . -}}
{{- $env := list -}}
{{- $sources := list -}}
{{- if $secrets.secret -}}
{{- $env = append $env (dict "name" "TENSORFLEET_CLUSTER_SECRET_FILE" "value" (printf "%s/cluster-secret" $path)) -}}
{{- $sources = append $sources (include "tensorfleet.secretSource" (list $secrets.secret "cluster-secret") | fromYaml) -}}
{{- else if $secrets.client -}}
{{- $env = list
    (dict "name" "TENSORFLEET_TLS_CERT" "value" (printf "%s/client.pem" $path))
    (dict "name" "TENSORFLEET_TLS_KEY" "value" (printf "%s/client-key.pem" $path))
    (dict "name" "TENSORFLEET_TLS_CA" "value" (printf "%s/ca.pem" $path))
    (dict "name" "TENSORFLEET_TOKEN_FILE" "value" (printf "%s/token" $path)) -}}
{{- if .Values.security.issuerRef.name -}}
{{- $sources = list
    (include "tensorfleet.secretSource" (list $secrets.client "token") | fromYaml)
    (include "tensorfleet.managedSource" (list (printf "%s-client-tls" (include "tensorfleet.fullname" .)) "client" true) | fromYaml) -}}
{{- else -}}
{{- $sources = append $sources (include "tensorfleet.secretSource" (list $secrets.client "token" "ca.pem" "client.pem" "client-key.pem") | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- $volumes := list -}}
{{- with $sources -}}
{{- $volumes = append $volumes (dict "name" "credentials" "projected" (dict "defaultMode" 288 "sources" .)) -}}
{{- end -}}
{{- dict "env" $env "volumes" $volumes | toYaml -}}
{{- end -}}

{{/* Where tasks and clients mount them, as a list: of the volumes. */}}
{{- define "tensorfleet.credentialsMount" -}}
{{- list (dict "name" "credentials" "mountPath" (include "tensorfleet.credentialsPath" .) "readOnly" true) | toYaml -}}
{{- end -}}
