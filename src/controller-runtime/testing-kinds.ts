import type { ConfigMap } from './objects/config-map.ts'
import type { KubeObject, Resource } from './objects/objects.ts'

/** Kinds for tests: one of the core group, one of another. */

export interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number; readonly colour?: string }
  readonly status?: { readonly ready?: boolean }
}

export const widgets: Resource<Widget> = {
  group: 'example.org',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'prod', labels }, data }
}

export function widget(name: string, spec: Widget['spec'] = {}): Widget {
  return { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name, namespace: 'prod' }, spec }
}
