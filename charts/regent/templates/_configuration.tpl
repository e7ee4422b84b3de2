{{/* The manager's configuration file. */}}
{{- define "regent.configuration" -}}
{{- $host := .Values.listenAddress -}}
{{- $fixed := dict
  "version" 1
  "watch" (dict "namespaces" .Values.watchNamespaces)
  "leaderElection" (dict "namespace" .Release.Namespace)
  "api" (dict "host" $host "port" 9500 "tokenFile" "/run/regent/api/token")
  "metrics" (dict "host" $host "port" 8080)
  "health" (dict "host" $host "port" 9440)
  "webhook" (dict "enabled" .Values.webhook.enabled "host" $host "port" 9443 "certificateFolder" "/run/regent/webhook" "waitForSecretSeconds" .Values.webhook.waitForSecretSeconds)
  "images" (dict "mysql" (include "regent.mysqlImage" .) "regent" (include "regent.image" .))
-}}
{{- toYaml (mergeOverwrite (deepCopy .Values.manager) $fixed) }}
{{- end }}
