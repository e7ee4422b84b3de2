import { Agent, request } from 'undici'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient, type KubeClientParts } from '#controller-runtime/client/http-kube-client.ts'
import type { KubeConnection } from '#controller-runtime/kube-config/kube-config.ts'
import type { KubeObject, Resource } from '#controller-runtime/objects/objects.ts'
import type { ApiServerAccess } from './api-server.ts'

export type Client = ReturnType<typeof createKubeClient>

export interface Definition extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly acceptedNames?: object
  }
}

export const customResourceDefinitions: Resource<Definition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
export const namespaces: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

export function adminOf(access: ApiServerAccess): KubeConnection {
  return connectionWith(access, { authorization: `Bearer ${access.token}` })
}

/** As somebody who may do only what RBAC lets him. */
export function userOf(access: ApiServerAccess, user: string): KubeConnection {
  return connectionWith(access, {
    authorization: `Bearer ${access.token}`,
    'impersonate-user': user,
    'impersonate-group': 'system:authenticated',
  })
}

export function tokenBearerOf(access: ApiServerAccess, token: string): KubeConnection {
  return connectionWith(access, { authorization: `Bearer ${token}` })
}

function connectionWith({ server, ca }: ApiServerAccess, headers: Readonly<Record<string, string>>): KubeConnection {
  return { server, namespace: 'default', credentials: () => Promise.resolve({ headers, tls: { ca } }) }
}

export function clientWith(connection: KubeConnection, parts: Partial<KubeClientParts> = {}): Client {
  return createKubeClient({ connection, world: realWorld, userAgent: 'regent/test', ...parts })
}

export interface RawAnswer {
  readonly status: number
  readonly body: unknown
}

export interface RawRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly accept?: string
  readonly body?: unknown
}

/** What Regent itself never asks, but people and their tools do. */
export async function ask(
  access: ApiServerAccess,
  { method = 'GET', path, accept = 'application/json', body }: RawRequest,
): Promise<RawAnswer> {
  const dispatcher = new Agent({ connect: { ca: access.ca } })
  try {
    const headers = {
      accept,
      authorization: `Bearer ${access.token}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }
    const answer = await request(access.server + path, {
      method,
      dispatcher,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    })
    return { status: answer.statusCode, body: await answer.body.json() }
  } finally {
    await dispatcher.close()
  }
}

/** A token of an account, which no pod is given. */
export async function tokenOf(
  access: ApiServerAccess,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const { body } = await ask(access, {
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: { name, namespace }, spec: {} },
  })
  const { token } = (body as { readonly status?: { readonly token?: string } }).status ?? {}
  if (token === undefined) throw new Error(`the API server gives account ${name} no token: ${JSON.stringify(body)}`)
  return token
}
