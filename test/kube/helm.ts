import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, inject } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import type { KubeObject } from '#controller-runtime/objects/objects.ts'
import { runCommand, type CommandResult } from '#common/process/run-command.ts'
import { findHelm } from './find-helm.ts'

export type ChartName = 'regent' | 'mysql-cluster'
export type Values = Readonly<Record<string, unknown>>

/** An object of a chart: what is in it depends on its kind, and a test says what it expects. */
export type Rendered = KubeObject & Readonly<Record<string, unknown>>

export interface RenderOptions {
  readonly release?: string
  readonly namespace?: string
  /** A kubeconfig: what the chart looks up is then asked of that API server. */
  readonly kubeconfig?: string
}

/** Tests that render charts. Skipped where helm is missing; `global-setup.ts` says so. */
export const describeCharts = describe.skipIf(!inject('helm'))

export function chartFolder(chart: ChartName): string {
  return join(import.meta.dirname, '..', '..', 'charts', chart)
}

/** What `helm template` prints. */
export async function renderText(chart: ChartName, values: Values = {}, options: RenderOptions = {}): Promise<string> {
  return textOf(await template(chartFolder(chart), values, options))
}

export async function render(
  chart: ChartName,
  values: Values = {},
  options: RenderOptions = {},
): Promise<readonly Rendered[]> {
  return objectsIn(await renderText(chart, values, options))
}

/** What helm says to values that it refuses. */
export async function refusalOf(chart: ChartName, values: Values, options: RenderOptions = {}): Promise<string> {
  const { ok, stderr } = await template(chartFolder(chart), values, options)
  if (ok) throw new Error(`helm takes ${JSON.stringify(values)}`)
  return stderr
}

/**
 * What `helm install` would say at its end. Helm shows it to nobody who has no API server, so a copy of the chart wraps
 * it into an object.
 */
export async function renderNotes(chart: ChartName, values: Values = {}, options: RenderOptions = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-chart-'))
  try {
    await cp(chartFolder(chart), folder, { recursive: true })
    await cp(join(folder, 'templates/NOTES.txt'), join(folder, 'notes.txt'))
    await writeFile(
      join(folder, 'templates/notes.yaml'),
      'kind: Notes\ntext: {{ tpl (.Files.Get "notes.txt") . | toJson }}\n',
    )
    const notes = objectsIn(textOf(await template(folder, values, options))).find(({ kind }) => kind === 'Notes')
    return String(notes?.['text'])
  } finally {
    await rm(folder, { recursive: true })
  }
}

export async function lint(chart: ChartName): Promise<CommandResult> {
  return helm(['lint', '--strict', chartFolder(chart), '--kube-version', kubeVersion])
}

export function ofKind(objects: readonly Rendered[], kind: string): readonly Rendered[] {
  return objects.filter((object) => object.kind === kind)
}

/** The only one of that kind, or of that kind and name. */
export function only(objects: readonly Rendered[], kind: string, name?: string): Rendered {
  const [found, ...more] = ofKind(objects, kind).filter(({ metadata }) => name === undefined || metadata.name === name)
  if (found === undefined || more.length > 0)
    throw new Error(`${more.length + Number(found !== undefined)} objects are ${kind} ${name ?? ''}`)
  return found
}

/** The text of the configuration file that the chart `regent` writes for the managers. */
export function configurationFileIn(objects: readonly Rendered[]): string {
  return (only(objects, 'ConfigMap', 'regent')['data'] as Readonly<Record<string, string>>)['manager.yaml'] ?? ''
}

export function configurationOf(objects: readonly Rendered[]): Values {
  return parse(configurationFileIn(objects)) as Values
}

const kubeVersion = '1.34.0'

async function template(
  folder: string,
  values: Values,
  { release = 'regent', namespace = 'regent', kubeconfig }: RenderOptions,
): Promise<CommandResult> {
  const said = Object.entries(values).flatMap(([key, value]) => ['--set-json', `${key}=${JSON.stringify(value)}`])
  const lookups = kubeconfig === undefined ? [] : ['--dry-run=server', '--kubeconfig', kubeconfig]
  return helm([
    'template',
    release,
    folder,
    '--namespace',
    namespace,
    '--kube-version',
    kubeVersion,
    ...said,
    ...lookups,
  ])
}

async function helm(parameters: readonly string[]): Promise<CommandResult> {
  return runCommand([await findHelm(), ...parameters], {
    deadlineMs: 60_000,
    env: { ...process.env, KUBECONFIG: '/dev/null' },
  })
}

function textOf({ ok, stdout, stderr }: CommandResult): string {
  if (!ok) throw new Error(stderr)
  return stdout
}

/** As Kubernetes reads YAML, which is 1.1: `0440` is octal, and a bare `off` is false. */
function objectsIn(text: string): readonly Rendered[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    const object = document.toJS() as Rendered | null
    return object === null ? [] : [object]
  })
}
