{{/* Where cert-manager's certificate for the webhooks is; empty where the manager makes its own. */}}
{{- define "regent.certificateFolder" -}}
{{- if and .Values.webhook.enabled .Values.webhook.certManager.enabled -}}
/run/regent/webhook
{{- end -}}
{{- end }}

{{/* The manager's configuration file. */}}
{{- define "regent.configuration" -}}
{{- $host := .Values.listenAddress -}}
{{- $disabled := .Values.manager.reconcile.disabledCapabilities -}}
{{- if not .Values.monitoring.podMonitors -}}
{{- $disabled = append $disabled "podMonitors" -}}
{{- end -}}
{{- $fixed := dict
  "version" 1
  "watch" (dict "namespaces" .Values.watchNamespaces)
  "reconcile" (dict "disabledCapabilities" $disabled)
  "leaderElection" (dict "namespace" .Release.Namespace)
  "api" (dict "host" $host "port" 9500 "tokenFile" "/run/regent/api/token")
  "orchestrator" (dict "enabled" .Values.orchestrator.enabled "host" $host "port" 3000 "hosts" .Values.orchestrator.hosts "readOnly" .Values.orchestrator.readOnly "loginFile" (ternary "/run/regent/orchestrator/login" "" (ne .Values.orchestrator.loginSecret "")))
  "metrics" (dict "host" $host "port" 8080)
  "health" (dict "host" $host "port" 9440)
  "webhook" (dict "enabled" .Values.webhook.enabled "host" $host "port" 9443 "certificateFolder" (include "regent.certificateFolder" .) "waitForSecretSeconds" .Values.webhook.waitForSecretSeconds)
  "images" (dict "mysql" (include "regent.mysqlImage" .) "regent" (include "regent.image" .) "pullPolicy" .Values.image.pullPolicy)
-}}
{{- toYaml (mergeOverwrite (deepCopy .Values.manager) $fixed) }}
{{- end }}
