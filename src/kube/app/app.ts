import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import type { AppSpec, AppStatus } from './app-schema.ts'

export const appGroup = 'apps.regent.dev'
export const appVersion = 'v1'

/** An image in so many pods, with one address: it becomes a Deployment and a Service. */
export interface App extends KubeObject {
  readonly spec: AppSpec
  readonly status?: AppStatus
}

export const apps: Resource<App> = {
  group: appGroup,
  version: appVersion,
  kind: 'App',
  plural: 'apps',
  namespaced: true,
}

/** On Deployment, Service and pods; the pods are selected by this. */
export const appLabel = `${appGroup}/app`
