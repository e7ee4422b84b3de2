import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Resource } from '#controller-runtime/objects/objects.ts'
import { serviceAccounts } from '#kube/objects/service-account.ts'
import type { ApiServerAccess } from './api-server.ts'
import { tokenOf, type Client } from './clients.ts'

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
  await writeFile(join(folder, 'token'), await tokenOf(access, metadata))
  await writeFile(join(folder, 'ca.crt'), access.ca)
}
