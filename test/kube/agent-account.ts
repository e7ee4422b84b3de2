import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KubeObject, Resource } from '../../src/controller-runtime/objects/objects.ts'
import { serviceAccounts } from '../../src/kube/objects/service-account.ts'
import type { ApiServerAccess } from './api-server.ts'
import type { Client } from './clients.ts'

interface TokenRequest extends KubeObject {
  readonly spec: object
  readonly status?: { readonly token?: string }
}

const rbac = 'rbac.authorization.k8s.io'
const roles: Resource = { group: rbac, version: 'v1', kind: 'Role', plural: 'roles', namespaced: true }
const bindings: Resource = { ...roles, kind: 'RoleBinding', plural: 'rolebindings' }

/**
 * Makes the account of a pod with a lifecycle agent, which may do with Events what the documentation says, and writes
 * what the kubelet mounts into such a pod: `token` and `ca.crt`.
 */
export async function agentAccount(
  client: Client,
  access: ApiServerAccess,
  {
    namespace,
    folder,
    name = 'agent',
  }: { readonly namespace: string; readonly folder: string; readonly name?: string },
): Promise<void> {
  const metadata = { name, namespace }
  await client.create(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata,
    automountServiceAccountToken: false,
  })
  const rules = [{ apiGroups: [''], resources: ['events'], verbs: ['get', 'create', 'update'] }]
  const role = { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules }
  await client.create(roles, role)
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata,
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
    roleRef: { apiGroup: rbac, kind: 'Role', name },
  }
  await client.create(bindings, binding)
  const token = { kind: 'TokenRequest', plural: `serviceaccounts/${name}/token` }
  const tokens: Resource<TokenRequest> = { group: '', version: 'v1', ...token, namespaced: true }
  const { status } = await client.create(tokens, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata,
    spec: {},
  })
  if (status?.token === undefined) throw new Error(`the API server gives account ${name} no token`)
  await writeFile(join(folder, 'token'), status.token)
  await writeFile(join(folder, 'ca.crt'), access.ca)
}
