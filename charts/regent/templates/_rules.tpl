{{/* What the manager may do with the objects of clusters: in every namespace, or in each of watchNamespaces. */}}
{{- define "regent.clusterRules" -}}
# get, list, watch: the clusters that are wanted. patch: writes down the image chosen for a cluster that names none, and how many instances a person asked the API for.
- apiGroups: [regent.dev]
  resources: [mysqlclusters]
  verbs: [get, list, watch, patch]
# patch: says what is. get: the status as it was last written.
- apiGroups: [regent.dev]
  resources: [mysqlclusters/status]
  verbs: [get, patch]
# update: no request goes there; API servers that check owner references want it of whoever makes an object that its cluster owns.
- apiGroups: [regent.dev]
  resources: [mysqlclusters/finalizers]
  verbs: [update]
# get, list, watch: the backups that are asked for. create, delete: objects for runs of the schedule, and the oldest of those; never what lies in the store.
- apiGroups: [regent.dev]
  resources: [mysqlbackups]
  verbs: [get, list, watch, create, delete]
# patch: how a backup goes.
- apiGroups: [regent.dev]
  resources: [mysqlbackups/status]
  verbs: [patch]
# get, list, watch: the Apps that are wanted. create, patch, delete: the one that is a cluster's router.
- apiGroups: [apps.regent.dev]
  resources: [apps]
  verbs: [get, list, watch, create, patch, delete]
# patch: how an App is.
- apiGroups: [apps.regent.dev]
  resources: [apps/status]
  verbs: [patch]
# update: as with those of clusters.
- apiGroups: [apps.regent.dev]
  resources: [apps/finalizers]
  verbs: [update]
# create, patch: one for each App, kept in step. It goes with its App, by itself.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch]
# get, list, watch: pods that come, go and move. patch: role labels. delete: rolling updates, and an instance whose node is lost.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch, delete]
# create, patch: one for each cluster, kept in step and scaled. It goes with its cluster, by itself.
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch]
# patch: a volume that grows. delete: one that was given up, or is not to be kept. None is created: the StatefulSet does that.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, patch, delete]
# get, list, watch: what was changed by hand is put right. create, patch: the Services of a cluster, those of Apps. delete: that of an App that has no port any more.
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch, delete]
# create, patch: the account of a cluster's pods, which has no rights.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, watch, create, patch]
# get, list, watch: passwords and certificates that exist are kept, clients' certificates are read. create, patch: those of a cluster. No rule can name only these, since their names follow the clusters'.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch, create, patch]
# create, patch: the record of a cluster, by compare-and-swap, and the settings of its pods. delete: the record of a cluster that is gone.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch, delete]
# update: the primary's address, by compare-and-swap, so that an older epoch loses. create: the first. delete: one whose address is of the other family, which cannot change in place, and others' that lead elsewhere.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch, create, update, delete]
# get, delete: the older kind of them, of which Kubernetes would make slices.
- apiGroups: [""]
  resources: [endpoints]
  verbs: [get, delete]
{{- $disabled := .Values.manager.reconcile.disabledCapabilities }}
{{- if not (has "disruptionBudgets" $disabled) }}
# create, patch: drains take one instance, and one router, at a time. delete: for a cluster that has no router any more.
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if not (has "networkPolicies" $disabled) }}
# create, patch: for a cluster that asks for one. delete: for one that no longer does.
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- if not (has "events" $disabled) }}
# create: tells what happened. patch: counts what happens again.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
{{- if not (has "podEvents" $disabled) }}
# list, watch: what agents of any component say of their pods; of all other Events the API server is asked for the Warnings about pods, claims and sets of clusters that are not ready. patch: that one is handled.
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch, patch]
# get: which roles the pods of a KubeBlocks component may have. patch: how far its replicas are, and whether it is available. Where those kinds do not exist nobody can use the right.
- apiGroups: [workloads.kubeblocks.io]
  resources: [instancesets, instances]
  verbs: [get, patch]
{{- end }}
{{- if .Values.monitoring.podMonitors }}
# create, patch: for a cluster that asks for one. delete: for one that no longer does.
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
{{- end }}

{{/* In the manager's own namespace. */}}
{{- define "regent.ownRules" -}}
# create: the first manager of all makes the lease; a name cannot be demanded of what does not exist yet.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
# get: who leads. update: to lead, to go on leading, and to hand it over.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [regent-manager]
  verbs: [get, update]
# create: the first manager makes the certificate of the API and the webhooks, the leader the place where its CA is published.
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [create]
# get: the certificate that all managers use. update: its renewal, by compare-and-swap.
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [regent-certificates]
  verbs: [get, update]
# get, update: its CA without the key, for whoever checks the certificate.
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [regent-ca]
  verbs: [get, update]
{{- end }}

{{/* Objects without a namespace, each by its name. */}}
{{- define "regent.installationRules" -}}
# get: a manager refuses to start beside a definition older than itself. It changes none: the chart does.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [mysqlclusters.regent.dev, mysqlbackups.regent.dev, apps.apps.regent.dev]
  verbs: [get]
{{- with .Values.watchNamespaces }}
# get: a manager looks at the others while one of those that it is to watch is not there.
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: {{ toJson . }}
  verbs: [get]
{{- end }}
{{- if and .Values.webhook.enabled (not .Values.webhook.certManager.enabled) }}
# get, patch: the CA of its own webhooks, now and after a renewal.
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [regent]
  verbs: [get, patch]
{{- end }}
{{- end }}
