import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { KubeClient } from '#controller-runtime/client/kube-client.ts'
import type { Resource } from '#controller-runtime/objects/objects.ts'
import { appDefinition } from './app-definition.ts'
import { backupDefinition } from './backup-definition.ts'
import { customResourceDefinition } from './custom-resource-definition.ts'
import { schemaRevision, schemaRevisionAnnotation } from './schema-revision.ts'

export const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/**
 * Throws `REGENT_DEFINITION_OUTDATED` where a definition of Regent's in the API server is missing or older than this
 * program: what it writes would lose the fields that the definition lacks. A newer one has them all.
 */
export async function refuseOlderDefinition(client: Pick<KubeClient, 'get'>, signal?: AbortSignal): Promise<void> {
  for (const { metadata } of [customResourceDefinition(), backupDefinition(), appDefinition()])
    await refuseOlder(client, metadata.name, signal)
}

async function refuseOlder(client: Pick<KubeClient, 'get'>, name: string, signal?: AbortSignal): Promise<void> {
  const installed = await client.get(customResourceDefinitions, { namespace: '', name }, signal && { signal })
  if (installed === undefined) throw outdated(say`the custom resource definition ${name} is not installed`)
  const revision = installed.metadata.annotations?.[schemaRevisionAnnotation] ?? ''
  if (/^\d{1,9}$/.test(revision) && Number(revision) >= schemaRevision) return
  const has = revision === '' ? say`no schema revision` : say`schema revision ${JSON.stringify(revision.slice(0, 60))}`
  throw outdated(say`the custom resource definition ${name} has ${has}; this Regent needs ${schemaRevision} or newer`)
}

function outdated(message: Sentence): RegentError {
  return new RegentError('REGENT_DEFINITION_OUTDATED', message)
}
