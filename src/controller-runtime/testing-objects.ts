import type { KubeObject, ObjectMeta, Resource } from './objects/objects.ts'

/** Objects as short as a test wants them. */

export const widgets: Resource = {
  group: 'example.org',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}
export const nodes: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }

export function widget(name: string, metadata: Partial<ObjectMeta> = {}): KubeObject {
  return {
    apiVersion: 'example.org/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'shop', uid: `uid-${name}`, ...metadata },
  }
}

export function configMap(name: string, metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop', ...metadata } }
}

export function node(name: string, metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: `uid-${name}`, ...metadata } }
}
