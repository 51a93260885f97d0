{{/* More of what ends the installation: names, labels, environment, budgets, GPUs, kinds that the cluster lacks. */}}

{{- define "tensorfleet.validateNames" -}}
{{- if gt (len .Values.fullnameOverride) 40 -}}
{{- fail (printf "fullnameOverride has %d characters, and names that end in a role take 40: set a shorter one" (len .Values.fullnameOverride)) -}}
{{- end -}}
{{- if gt (len (include "tensorfleet.name" .)) 63 -}}
{{- fail (printf "nameOverride has %d characters, and a label takes 63: set a shorter one" (len .Values.nameOverride)) -}}
{{- end -}}
{{- end -}}

{{/* What belongs to no task: labels of all objects, and the parts of clients that are there. */}}
{{- define "tensorfleet.validateCommon" -}}
{{- $v := .Values -}}
{{- $root := . -}}
{{- include "tensorfleet.validateMetadata" (list . "commonLabels" $v.commonLabels true) -}}
{{- include "tensorfleet.validateMetadata" (list . "commonAnnotations" $v.commonAnnotations false) -}}
{{- include "tensorfleet.validateMetadata" (list . "service.labels" $v.service.labels true) -}}
{{- include "tensorfleet.validateMetadata" (list . "service.annotations" $v.service.annotations false) -}}
{{- include "tensorfleet.validateMetadata" (list . "serviceAccount.annotations" $v.serviceAccount.annotations false) -}}
{{- range $name := list "podMonitor" "serviceMonitor" "rules" "dashboard" -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "metrics.%s.labels" $name) (get $v.metrics $name).labels true) -}}
{{- end -}}
{{- range $key := list "queueName" "priorityClass" -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "kueue.%s, a label," $key) (dict $key (get $v.kueue $key)) true) -}}
{{- end -}}
{{- $found := dict -}}
{{- range $name := list "client" "check" -}}
{{- include "tensorfleet.clientValues" (list $root (get $v $name) $found) -}}
{{- include "tensorfleet.validateParts" (list $root $name $found.values) -}}
{{- end -}}
{{- if eq $v.service.type "ClusterIP" -}}
{{- if or $v.service.nodePorts.grpc $v.service.nodePorts.stream $v.service.externalTrafficPolicy -}}
{{- fail "service.type is ClusterIP, which has neither nodePorts nor an externalTrafficPolicy: set service.type to NodePort or LoadBalancer, or leave them out" -}}
{{- end -}}
{{- end -}}
{{- if ne $v.service.type "LoadBalancer" -}}
{{- if or $v.service.loadBalancerSourceRanges $v.service.loadBalancerClass -}}
{{- fail (printf "service.type is %s, and only a LoadBalancer has loadBalancerSourceRanges and a loadBalancerClass: set service.type to LoadBalancer, or leave them out" $v.service.type) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the values of tasks and of clients have in common: (list $ "path" values). */}}
{{- define "tensorfleet.validateParts" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $values := index . 2 -}}
{{- range $key := list "labels" "podLabels" "nodeSelector" -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "%s.%s" $path $key) (get $values $key) true) -}}
{{- end -}}
{{- range $key := list "annotations" "podAnnotations" -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "%s.%s" $path $key) (get $values $key) false) -}}
{{- end -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "%s.persistence.labels" $path) $values.persistence.labels true) -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "%s.persistence.annotations" $path) $values.persistence.annotations false) -}}
{{- include "tensorfleet.validateMetadata" (list $root (printf "%s.serviceAccount.annotations" $path) $values.serviceAccount.annotations false) -}}
{{- include "tensorfleet.validateEnv" (list (printf "%s.extraEnv" $path) $values.extraEnv) -}}
{{- range $key := list "initContainers" "sidecars" -}}
{{- range $i, $container := get $values $key -}}
{{- include "tensorfleet.validateEnv" (list (printf "%s.%s[%d].env" $path $key $i) $container.env) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Keys of labels and annotations, and the values of labels, as they are rendered: (list $ "path" map isLabels). */}}
{{- define "tensorfleet.validateMetadata" -}}
{{- $path := index . 1 -}}
{{- $labels := index . 3 -}}
{{- with index . 2 -}}
{{- range $key, $value := fromYaml (include "tensorfleet.render" (list (index $ 0) .)) -}}
{{- $name := splitList "/" $key | last -}}
{{- if or (not (regexMatch "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$" $key)) (gt (len $name) 63) -}}
{{- fail (printf "%s has the key %q, which Kubernetes does not take: set a name of 63 letters, digits, -, _ and . at most, a letter or digit at both ends, with a domain and / before it if you like" $path $key) -}}
{{- end -}}
{{- if and $labels (or (not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$" (toString $value))) (gt (len (toString $value)) 63)) -}}
{{- fail (printf "%s has the value %q, which Kubernetes does not take for a label: set 63 letters, digits, -, _ and . at most, a letter or digit at both ends" $path (toString $value)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Environment variables: (list "path" list). */}}
{{- define "tensorfleet.validateEnv" -}}
{{- $path := index . 0 -}}
{{- range $i, $item := index . 1 -}}
{{- if not (kindIs "string" $item.name) -}}
{{- fail (printf "%s[%d] has no name: set name to that of the environment variable" $path $i) -}}
{{- end -}}
{{- if and (hasKey $item "value") (not (kindIs "string" $item.value)) (not (kindIs "invalid" $item.value)) -}}
{{- fail (printf "%s[%d], %s, has the value %v, and environment variables are text: put it in quotes, \"%v\"" $path $i $item.name $item.value $item.value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The PodDisruptionBudget of a role: (list "path" role). */}}
{{- define "tensorfleet.validateBudget" -}}
{{- $path := printf "%s.podDisruptionBudget" (index . 0) -}}
{{- $role := index . 1 -}}
{{- $budget := $role.values.podDisruptionBudget -}}
{{- range $key := list "minAvailable" "maxUnavailable" -}}
{{- $text := toString (get $budget $key) -}}
{{- if not (regexMatch "^([0-9]+%?)?$" $text) -}}
{{- fail (printf "%s.%s is %q: set it to a number of pods or a percentage, such as 1 or 50%%" $path $key $text) -}}
{{- end -}}
{{- if and (hasSuffix "%" $text) (gt (trimSuffix "%" $text | int) 100) -}}
{{- fail (printf "%s.%s is %s: set it to 100%% or less" $path $key $text) -}}
{{- end -}}
{{- end -}}
{{- $least := toString $budget.minAvailable -}}
{{- if and (ne $least "") (ne (toString $budget.maxUnavailable) "") -}}
{{- fail (printf "%s has minAvailable (%s) and maxUnavailable (%v), and Kubernetes takes one of them: leave one out" $path $least $budget.maxUnavailable) -}}
{{- end -}}
{{- if and $budget.enabled (ne $least "") (not (hasSuffix "%" $least)) (gt (int $least) $role.replicas) -}}
{{- fail (printf "%s.minAvailable is %s, more than the %d replicas, so that no node with such a pod could be drained: set it to less than the replicas" $path $least $role.replicas) -}}
{{- end -}}
{{- end -}}

{{/* GPUs that a container asks for by itself: (list "path" role). */}}
{{- define "tensorfleet.validateGpus" -}}
{{- $path := index . 0 -}}
{{- $values := (index . 1).values -}}
{{- range $kind := list "limits" "requests" -}}
{{- range $resource, $count := default dict (get $values.resources $kind) -}}
{{- if or (eq $resource $values.gpu.resourceName) (regexMatch "/(gpu|mig-.*)$" $resource) -}}
{{- if not $values.gpu.enabled -}}
{{- fail (printf "%s.resources.%s has %s, but without gpu.enabled the task opens no GPU, and would hold it unused: %s" $path $kind $resource (ternary "a ps computes without GPUs, so leave it out" (printf "set %s.gpu.enabled to true and %s.gpu.count to the number, and leave it out" $path $path) (eq $path "ps"))) -}}
{{- else if ne (toString $count) (toString $values.gpu.count) -}}
{{- fail (printf "%s.resources.%s has %v of %s, and %s.gpu.count is %v: set gpu.count and gpu.resourceName alone" $path $kind $count $resource $path $values.gpu.count) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Half a configuration of security is none. */}}
{{- define "tensorfleet.validateSecurity" -}}
{{- $security := .Values.security -}}
{{- $existing := $security.existingSecrets -}}
{{- $given := list -}}
{{- range $key := list "tasks" "tokens" "client" -}}
{{- if get $existing $key -}}{{- $given = append $given $key -}}{{- end -}}
{{- end -}}
{{- if and (not $security.enabled) (or $given $security.issuerRef.name) -}}
{{- fail "security.enabled is false, but security.existingSecrets or security.issuerRef is set: set security.enabled to true, or leave them out" -}}
{{- end -}}
{{- if and (ne $security.mode "tls") $security.issuerRef.name -}}
{{- fail (printf "security.issuerRef.name is set, but in security.mode %s there are no certificates: set security.mode to tls, or leave it out" $security.mode) -}}
{{- end -}}
{{- if and (eq $security.mode "own") $given -}}
{{- fail "security.mode is own, so security.existingSecrets is not looked at: leave it out, or set security.mode to tls or secret" -}}
{{- end -}}
{{- if and (eq $security.mode "secret") (or $existing.tokens $existing.client) -}}
{{- fail "security.mode is secret, where clients show the cluster secret and no tokens: leave security.existingSecrets.tokens and client out, or set security.mode to tls" -}}
{{- end -}}
{{- $encrypts := and $security.enabled (ne $security.mode "secret") -}}
{{- range $path, $asked := dict
      "security.tokenReview.enabled" $security.tokenReview.enabled
      "metrics.tls.enabled" .Values.metrics.tls.enabled
      "metrics.access" (eq .Values.metrics.access "token") -}}
{{- if and $asked (not $encrypts) -}}
{{- fail (printf "%s takes TLS, which there is only with security.enabled and security.mode tls: set these, or leave it out" $path) -}}
{{- end -}}
{{- end -}}
{{- with $security.tokenReview -}}
{{- if and .enabled (not .serviceAccounts) (not .groups) -}}
{{- fail "security.tokenReview.enabled lets nobody in: set security.tokenReview.serviceAccounts or groups" -}}
{{- end -}}
{{- if and .enabled $.Values.networkPolicy.restrictEgress (not $.Values.networkPolicy.extraEgress) -}}
{{- fail "security.tokenReview.enabled has tasks ask the API server, which networkPolicy.restrictEgress forbids: allow its address in networkPolicy.extraEgress" -}}
{{- end -}}
{{- end -}}
{{- if eq $security.mode "tls" -}}
{{- if and $security.issuerRef.name $existing.tasks -}}
{{- fail "security.issuerRef.name and security.existingSecrets.tasks both bring the tasks' certificates: leave one out" -}}
{{- end -}}
{{- if ne (ternary "set" "" (ne $existing.tokens "")) (ternary "set" "" (ne $existing.client "")) -}}
{{- fail "security.existingSecrets.tokens has the hashes of what security.existingSecrets.client has a token of: set both, or none" -}}
{{- end -}}
{{- if and (not $security.issuerRef.name) $given (lt (len $given) 3) -}}
{{- fail (printf "security.existingSecrets has %s alone, and what tasks and clients show has to be of one CA: set tasks, tokens and client, or none" (join " and " $given)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Kinds of operators and schedulers, where Helm knows what the cluster has: without one it knows no kinds at all. */}}
{{- define "tensorfleet.validateCapabilities" -}}
{{- $apis := .Capabilities.APIVersions -}}
{{- $metrics := .Values.metrics -}}
{{- $gang := .Values.gang.kind -}}
{{- if $apis.Has "apps/v1/StatefulSet" -}}
{{- range $need := list
      (list $metrics.podMonitor.enabled "monitoring.coreos.com/v1/PodMonitor" "the Prometheus operator" "metrics.podMonitor.enabled to false")
      (list $metrics.serviceMonitor.enabled "monitoring.coreos.com/v1/ServiceMonitor" "the Prometheus operator" "metrics.serviceMonitor.enabled to false")
      (list $metrics.rules.enabled "monitoring.coreos.com/v1/PrometheusRule" "the Prometheus operator" "metrics.rules.enabled to false")
      (list (ne .Values.security.issuerRef.name "") "cert-manager.io/v1/Certificate" "cert-manager" "security.issuerRef.name to nothing")
      (list (eq $gang "coscheduling") "scheduling.x-k8s.io/v1alpha1/PodGroup" "the coscheduling plugin" "gang.kind to nothing")
      (list (eq $gang "volcano") "scheduling.volcano.sh/v1beta1/PodGroup" "Volcano" "gang.kind to nothing") -}}
{{- if and (index $need 0) (not ($apis.Has (index $need 1))) -}}
{{- fail (printf "this cluster does not know %s: install %s, or set %s" (index $need 1) (index $need 2) (index $need 3)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
