import { globSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { V1Container, V1PodSpec, V1PodTemplateSpec } from '@kubernetes/client-node'
import { parse } from 'yaml'
import { expect, it, onTestFinished } from 'vitest'
import { checkAdoption } from '#adopt/adoption.ts'
import { readConfiguration } from '#agents/lifecycle/configuration/configuration.ts'
import { describeError } from '#common/errors/errors.ts'
import type { JsonSchema } from '#common/input/json-schema.ts'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { clusterSpecSchema } from '#failover/protocol/spec.ts'
import { validateApp } from '#kube/admission/app-validation.ts'
import { validateMySQLBackup } from '#kube/admission/backup-object-validation.ts'
import type { App } from '#kube/app/app.ts'
import type { MySQLBackup } from '#kube/backup/mysql-backup.ts'
import { validateMySQLCluster } from '#kube/admission/cluster-validation.ts'
import { readWishes } from '#kube/injection/wishes.ts'
import { rolesOf } from '#kube/pod-events/component.ts'
import type { MySQLCluster } from '#kube/spec/mysql-cluster.ts'
import { mysqlClusterSpecSchema } from '#kube/spec/spec-schema.ts'
import { mysqlClusterStatusSchema } from '#kube/spec/status-schema.ts'
import { readHosts } from '#local/addresses/hosts-file.ts'
import { readRouterSettings } from '#local/folder/router-file.ts'
import { composeSpec } from '#local/folder/spec-file.ts'
import { loadKubernetesOptions } from '#manager/options/load.ts'
import { quotedIn, proseOf, read, root, tablesOf } from './page-text.ts'
import { yamlIn } from './yaml-blocks.ts'

const pages = globSync(['*.md', '{docs,charts}/**/*.md'], { cwd: root })

type Mapping = Readonly<Record<string, unknown>>
type Judge = (shown: never) => unknown

const hasOnly = (shown: unknown, known: object): shown is Mapping =>
  isMapping(shown) && Object.keys(shown).every((key) => Object.hasOwn(known, key))
const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const holds = (shown: unknown, ...keys: readonly string[]) =>
  isMapping(shown) && keys.every((key) => Object.hasOwn(shown, key))

/** What a page may show as YAML, and who judges it: the first that knows what is shown. */
const kinds: readonly (readonly [knows: (shown: unknown) => boolean, judge: Judge])[] = [
  [(shown) => holds(shown, 'apiVersion', 'kind'), judgeObject],
  [(shown) => hasOnly(shown, { spec: 1 }), ({ spec }: { readonly spec: object }) => judgeSpec(spec)],
  [(shown) => hasOnly(shown, { metadata: 1 }), (owner: KubeObject) => rolesOf(owner)],
  [(shown) => hasOnly(shown, { template: 1 }), judgeAnnotations],
  [(shown) => holds(shown, 'cluster', 'hosts'), (shown) => checkAdoption('the page', shown)],
  [(shown) => holds(shown, 'initContainers'), ({ initContainers = [] }: V1PodSpec) => judgeAgents(initContainers)],
  [(shown) => holds(shown, 'version', 'kube'), (shown: object) => inFile(shown, loadManager)],
  [namesFolder, (shown: object) => inFile(shown, loadSpec)],
  [(shown) => hasOnly(shown, mysqlClusterSpecSchema.properties), judgeSpec],
  [(shown) => hasOnly(shown, clusterSpecSchema.properties), (shown: object) => inFile(shown, loadSpec)],
  [(shown) => holds(shown, 'waitMs', 'reads'), (shown: object) => inFile(shown, readRouterSettings)],
  [(shown) => isListOf(shown, 'address'), (shown: object) => inFile(shown, (path) => readHosts(path, 3))],
  [(shown) => isListOf(shown, 'args'), judgeAgents],
]

/** Backups in a folder are those of a machine: on Kubernetes there are claims. */
function namesFolder(shown: unknown): boolean {
  const { backup } = isMapping(shown) ? shown : {}
  const store = isMapping(backup) ? backup['store'] : undefined
  return isMapping(store) && String(store['address']).startsWith('/')
}

function isListOf(shown: unknown, key: string): boolean {
  return Array.isArray(shown) && shown.every((one) => holds(one, key))
}

/** Of other kinds than Regent's nothing is known but that they are objects. */
function judgeObject(shown: MySQLCluster): void {
  if (!/^(apps\.)?regent\.dev\//.test(shown.apiVersion)) return
  for (const refusal of refusalsOf(shown)) throw refusal
}

function refusalsOf(shown: MySQLCluster): readonly Error[] {
  if (shown.kind === 'App') return validateApp(shown as unknown as App, undefined).refusals
  if (shown.kind === 'MySQLBackup')
    return validateMySQLBackup(shown as unknown as MySQLBackup, undefined, undefined).refusals
  return validateMySQLCluster({ ...shown, metadata: { namespace: 'shops', ...shown.metadata } }).refusals
}

function judgeSpec(part: object): void {
  const smallest = { instances: 3, storage: { size: '1Gi' } }
  judgeObject({
    apiVersion: 'regent.dev/v1alpha1',
    kind: 'MySQLCluster',
    metadata: { name: 'shop' },
    spec: { ...smallest, ...part },
  } as unknown as MySQLCluster)
}

function judgeAnnotations({ template }: { readonly template: V1PodTemplateSpec }): void {
  if (readWishes(template.metadata?.annotations ?? {}) === undefined) throw new Error('no annotation asks for an agent')
}

async function judgeAgents(containers: readonly V1Container[]): Promise<void> {
  await Promise.all(containers.map(judgeAgent))
}

/** A container that runs the lifecycle agent: its options, and what its variables say. */
async function judgeAgent({ args = [], env = [] }: V1Container): Promise<void> {
  const options = await optionsOf(args[0] ?? '')
  const unknown = args.filter((word) => word.startsWith('--') && !options.includes(word.replace(/=.*/, '')))
  if (unknown.length > 0) throw new Error(`${args[0]} has no option ${unknown.join()}`)
  readConfiguration(Object.fromEntries(env.map(({ name, value }) => [name, value])))
  for (const { value = '' } of env) if (/^[[{]/.test(value)) JSON.parse(value)
}

async function optionsOf(command: string): Promise<readonly string[]> {
  const [, section = ''] = (await read('docs/reference/cli.md')).split(`## regent ${command}\n`)
  return (section.split('\n## ')[0] ?? '').match(/--[a-z-]+/g) ?? []
}

const loadSpec = (file: string) => composeSpec('shop', file, {})
const loadManager = (file: string) => loadKubernetesOptions({ flags: new Map(), env: {}, file })

async function inFile(shown: object, load: (path: string) => Promise<unknown>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-pages-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'shown.yaml')
  await writeFile(path, JSON.stringify(shown))
  await load(path)
}

async function complaintOf(text: string): Promise<string | undefined> {
  try {
    const shown: unknown = parse(text)
    const judge = kinds.find(([knows]) => knows(shown))?.[1] as ((value: unknown) => unknown) | undefined
    if (judge === undefined) return `nobody knows what this is: ${text.split('\n')[0]}`
    await judge(shown)
    return undefined
  } catch (error) {
    return describeError(error)
  }
}

it('What a page shows as YAML is taken by whoever is to read that', async () => {
  const blocks = (await Promise.all(pages.map(yamlIn))).flat()
  expect(blocks.length).toBeGreaterThan(15)
  const complaints = await Promise.all(blocks.map(async ({ where, text }) => [where, await complaintOf(text)]))
  expect(complaints.filter(([, complaint]) => complaint !== undefined)).toEqual([])
})

it('YAML that nobody would take is found', async () => {
  expect(await complaintOf('apiVersion: regent.dev/v1alpha1\nkind: MySQLCluster\nspec: {instances: 3}')).toMatch(
    /storage/,
  )
  expect(await complaintOf('spec: {settings: {innodb_pagesize: 4k}}')).toMatch(/innodb_pagesize/)
  expect(await complaintOf('instances: 3\npolicies: {shop-4: {promotion: seldom}}')).toMatch(/seldom/)
  expect(await complaintOf('- {name: x, args: [lifecycle-agent, --opne]}')).toMatch(/no option --opne/)
  expect(await complaintOf('who: knows')).toMatch(/^nobody knows/)
  expect(await complaintOf('spec: {a')).toMatch(/flow/i)
})

/** Whether a schema has the field of that path: `failover.budget`, `instances[].name`. */
function hasField(schema: JsonSchema, [name = '', ...rest]: readonly string[]): boolean {
  const {
    properties,
    items,
    anyOf = [],
    additionalProperties,
    patternProperties,
  } = schema as Mapping & {
    readonly anyOf?: readonly JsonSchema[]
  }
  if (name === '') return true
  if (items !== undefined) return hasField(items as JsonSchema, [name, ...rest])
  if (anyOf.some((one) => hasField(one, [name, ...rest]))) return true
  const found = (properties as Record<string, JsonSchema> | undefined)?.[name]
  if (found !== undefined) return hasField(found, rest)
  return properties === undefined ? true : (additionalProperties ?? patternProperties) === true
}

const pathOf = (text: string): readonly string[] => text.replaceAll('[]', '').split('.')

/** Fields of StatefulSets and of KubeBlocks' kinds, and a file. */
const ofOthers = ['spec.replicas', 'spec.available', 'spec.roles', 'spec.json']

it('Each field of the resource that a page names is one', async () => {
  const schema = { properties: { spec: mysqlClusterSpecSchema, status: mysqlClusterStatusSchema } } as JsonSchema
  const lost: string[] = []
  let seen = 0
  for (const page of pages)
    for (const text of quotedIn(await proseOf(page))) {
      const [, path] = /^((?:spec|status)(?:\.[a-zA-Z]+(?:\[\])?)+)(?::.*)?$/.exec(text) ?? []
      if (path === undefined || ofOthers.includes(path)) continue
      seen += 1
      if (!hasField(schema, pathOf(path))) lost.push(`${page}: ${text}`)
    }
  expect(seen).toBeGreaterThan(20)
  expect(lost).toEqual([])
})

it('Each value of the chart that a page names is one', async () => {
  const schema = JSON.parse(await read('charts/regent/values.schema.json')) as JsonSchema
  const named: (readonly [string, string])[] = []
  for (const page of pages) {
    for (const [head = [], ...rows] of tablesOf(await proseOf(page)))
      if (head[0] === 'value')
        named.push(...rows.flatMap((row) => quotedIn(row[0] ?? '')).map((one) => [page, one] as const))
    for (const [, one = ''] of (await read(page)).matchAll(/(?:--set(?:-\w+)? |chart values? `)([\w.]+)/g))
      named.push([page, one])
  }
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter(([, one]) => !hasField(schema, pathOf(one.split(':')[0] ?? '')))).toEqual([])
})
