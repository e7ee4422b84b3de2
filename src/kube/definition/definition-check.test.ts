import { createHash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { RegentError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { createKubeClient } from '#controller-runtime/client/http-kube-client.ts'
import { FakeApiServer } from '#controller-runtime/testing-api-server.ts'
import { appDefinition } from './app-definition.ts'
import { backupDefinition } from './backup-definition.ts'
import { customResourceDefinition } from './custom-resource-definition.ts'
import { schemaRevision, schemaRevisionAnnotation } from './schema-revision.ts'
import { customResourceDefinitions, refuseOlderDefinition } from './definition-check.ts'

/** Checks against an API server that has this definition; undefined when it is accepted. */
async function refusalOf(
  annotations: Readonly<Record<string, string>> | 'not installed',
): Promise<RegentError | undefined> {
  const server = await FakeApiServer.start()
  const client = createKubeClient({ connection: server.connection, world: realWorld, userAgent: 'regent/test' })
  onTestFinished(async () => {
    await client.close()
    await server[Symbol.asyncDispose]()
  })
  const definition = customResourceDefinition()
  for (const other of [backupDefinition(), appDefinition()]) await client.create(customResourceDefinitions, other)
  if (annotations !== 'not installed')
    await client.create(customResourceDefinitions, { ...definition, metadata: { ...definition.metadata, annotations } })
  return refuseOlderDefinition(client).then(
    () => undefined,
    (error: unknown) => error as RegentError,
  )
}

const revision = (text: string | number) => ({ [schemaRevisionAnnotation]: String(text) })

test('the definition of this Regent is accepted, and so is a newer one', async () => {
  expect(await refusalOf(customResourceDefinition().metadata.annotations)).toBeUndefined()
  expect(await refusalOf(revision(schemaRevision + 1))).toBeUndefined()
})

const refusals: readonly (readonly [string, Parameters<typeof refusalOf>[0], RegExp])[] = [
  [
    'older',
    revision(schemaRevision - 1),
    new RegExp(`has schema revision "${schemaRevision - 1}"; this Regent needs ${schemaRevision} or newer`),
  ],
  ['without a revision', {}, /has no schema revision/],
  ['with a revision that is no number', revision('newest'), /has schema revision "newest"/],
  ['not installed', 'not installed', /mysqlclusters.regent.dev is not installed/],
]
test.each(refusals)('a definition %s is refused, with what to do', async (_what, annotations, message) => {
  const refusal = await refusalOf(annotations)
  expect(refusal).toMatchObject({
    code: 'REGENT_DEFINITION_OUTDATED',
    message: expect.stringMatching(message) as string,
  })
  expect(refusal?.remedyIn('kubernetes')).toContain('helm upgrade')
})

test('its revision grows with every change of its fields: where this differs, raise the one and write down both', () => {
  const schemas = [customResourceDefinition(), backupDefinition(), appDefinition()].map(
    ({ spec }) => spec.versions[0]?.schema,
  )
  const fields = JSON.stringify(schemas, (key, value: unknown) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  )
  const digest = createHash('sha256').update(fields).digest('hex').slice(0, 12)
  expect({ schemaRevision, digest }).toEqual({ schemaRevision: 18, digest: 'f6caa76bdf61' })
})
