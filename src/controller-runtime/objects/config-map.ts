import type { KubeObject, Resource } from './objects.ts'

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

export const configMaps: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}
