import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { TestProject } from 'vitest/node'
import { parse } from 'yaml'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { patienceMs } from '../support/patience.ts'
import { freePort } from '../support/free-port.ts'
import { ApiServer } from './api-server.ts'
import { adminOf, clientWith, customResourceDefinitions, type Definition } from './clients.ts'
import { findControlPlane, missingPrograms, type ControlPlanePrograms } from './control-plane-programs.ts'
import { findHelm } from './find-helm.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Null where Kubernetes' programs are not here. `door` gives the access to the API server that all files share. */
    readonly helm: boolean
    readonly kube: { readonly programs: ControlPlanePrograms; readonly door: string } | null
  }
}

let shared: Promise<ApiServer> | undefined
let door: Server | undefined
let isMissing = false

/** One API server for all files of the project, started when the first of them asks. */
export async function setup(project: TestProject): Promise<void> {
  const [programs, helm] = await Promise.all([findControlPlane(), findHelm().catch(() => undefined)])
  isMissing = programs === undefined || helm === undefined
  if (isMissing && process.env['REGENT_REQUIRE_KUBE'] === 'true') throw new Error(missingPrograms)
  project.provide('helm', helm !== undefined)
  if (programs === undefined) {
    project.provide('kube', null)
    return
  }
  door = createServer((_request, response) => {
    shared ??= start(programs)
    shared.then(
      ({ access }) => response.end(JSON.stringify(access)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  const port = await freePort()
  door.listen(port, '127.0.0.1')
  await once(door, 'listening')
  project.provide('kube', { programs, door: `http://127.0.0.1:${port}/` })
}

export async function teardown(): Promise<void> {
  door?.close()
  await (await shared?.catch(() => undefined))?.end()
  // Last, where it is read.
  if (isMissing) console.error(missingPrograms)
}

/** With the custom resource definition that the chart brings, as it is there. */
async function start(programs: ControlPlanePrograms): Promise<ApiServer> {
  const server = await ApiServer.start(programs)
  const client = clientWith(adminOf(server.access))
  try {
    for (const name of ['custom-resource-definition', 'backup-definition', 'app-definition'])
      await install(client, name)
    return server
  } catch (error) {
    await server.end()
    throw error
  } finally {
    await client.close()
  }
}

async function install(client: ReturnType<typeof clientWith>, name: string): Promise<void> {
  const file = new URL(`../../charts/regent/templates/${name}.yaml`, import.meta.url)
  const { metadata } = await client.create(customResourceDefinitions, parse(await readFile(file, 'utf8')) as KubeObject)
  for (
    const started = performance.now();
    performance.now() - started < patienceMs;
    await new Promise((resolve) => setTimeout(resolve, 50))
  ) {
    if (isEstablished(await client.get(customResourceDefinitions, { namespace: '', name: metadata.name }))) return
  }
  throw new Error(`the custom resource definition ${metadata.name} was not established within ${patienceMs / 1_000} s`)
}

function isEstablished(definition: Definition | undefined): boolean {
  return (
    definition?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
  )
}
