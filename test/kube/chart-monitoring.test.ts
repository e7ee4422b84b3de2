import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { beforeAll, expect, it } from 'vitest'
import { agentMetrics } from '#agents/observe/agent-metrics.ts'
import { createRuntimeMetrics } from '#controller-runtime/controller/runtime-metrics.ts'
import { createMetrics } from '#manager/clusters/metrics.ts'
import { anObservation } from '#topology/testing.ts'
import { chartFolder, describeCharts, ofKind, only, render, type Rendered } from './helm.ts'
import { isSelected, podTemplates } from './rendered-pods.ts'

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string }
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string }[]
}

const monitored = {
  monitoring: {
    monitor: 'ServiceMonitor',
    rules: { enabled: true },
    dashboard: { enabled: true },
    labels: { release: 'prometheus' },
  },
}
let objects: readonly Rendered[]
let known: ReadonlyMap<string, string>
let panels: readonly Panel[]
beforeAll(async () => {
  objects = await render('regent', monitored)
  known = await metricsInCode()
  panels = (
    JSON.parse(await readFile(join(chartFolder('regent'), 'files/dashboard.json'), 'utf8')) as {
      readonly panels: readonly Panel[]
    }
  ).panels
})

describeCharts('monitoring', () => {
  it('is off unless asked for: its kinds may not be there', async () => {
    expect(
      (await render('regent')).filter(
        ({ apiVersion, metadata }) => apiVersion.startsWith('monitoring') || metadata.name.includes('dashboard'),
      ),
    ).toEqual([])
  })

  it('reads each manager once, through the Service of the metrics', () => {
    const monitor = only(objects, 'ServiceMonitor')
    const { selector, endpoints } = monitor['spec'] as {
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
      readonly endpoints: readonly unknown[]
    }
    expect(
      ofKind(objects, 'Service')
        .filter(({ metadata }) => isSelected(metadata.labels ?? {}, selector.matchLabels))
        .map(({ metadata }) => metadata.name),
    ).toEqual(['regent-metrics'])
    expect(endpoints).toEqual([{ port: 'metrics', interval: '15s', honorLabels: true }])
    expect(monitor.metadata.labels).toMatchObject({ release: 'prometheus' })
  })

  it('reads the managers’ pods without a Service where that is asked for, and no other pod', async () => {
    const byPod = await render('regent', { monitoring: { monitor: 'PodMonitor', interval: '30s' } })
    const { selector, podMetricsEndpoints } = only(byPod, 'PodMonitor')['spec'] as {
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
      readonly podMetricsEndpoints: readonly unknown[]
    }
    expect(
      podTemplates(byPod)
        .filter(({ labels }) => isSelected(labels, selector.matchLabels))
        .map(({ name }) => name),
    ).toEqual(['Deployment regent'])
    expect(podMetricsEndpoints).toEqual([{ port: 'metrics', interval: '30s', honorLabels: true }])
    expect(ofKind(byPod, 'ServiceMonitor')).toEqual([])
  })
})

describeCharts('every alert', () => {
  it('asks for metrics that the code has', () => {
    for (const { expr } of alerts()) expect(unknownIn(expr), expr).toEqual([])
  })

  it('says what is wrong and how bad, and leads to a chapter that exists', async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/guide/failure-modes.md'), 'utf8')
    const chapters = [...page.matchAll(/^#+ (.+)$/gm)].map(
      ([, title = '']) =>
        `docs/guide/failure-modes.md#${title
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-')}`,
    )
    for (const { alert, labels, annotations } of alerts()) {
      expect(alert).toMatch(/^Regent[A-Z]/)
      expect(['critical', 'warning', 'info']).toContain(labels.severity)
      expect(annotations).toMatchObject({
        summary: expect.stringMatching(/\.$/) as string,
        description: expect.stringMatching(/./) as string,
      })
      expect(chapters).toContain(annotations.runbook_url)
    }
  })

  it('names a cluster with its namespace, also where it gives a command', () => {
    const commands = alerts().flatMap(({ annotations: { description } }) => description.match(/"regent [^"]*"/g) ?? [])
    expect(commands.length).toBeGreaterThan(3)
    for (const command of commands)
      expect(command).toMatch(/^"regent \w+ \{\{ \$labels\.namespace \}\}\/\{\{ \$labels\.cluster \}\}"$/)
  })

  it('has a name of its own', () => {
    const names = alerts().map(({ alert }) => alert)
    expect(names).toEqual([...new Set(names)])
    expect(names).toContain('RegentClusterNotWritable')
  })

  it('of backups has a chapter of its own', () => {
    const chapters = alerts()
      .filter(({ expr }) => expr.includes('regent_backup_'))
      .map(({ alert, annotations }) => [alert, annotations.runbook_url])
    expect(chapters.map(([alert = '']) => alert)).toEqual([
      ...['RegentBackupOld', 'RegentBackupNotVerified', 'RegentBackupFailed'],
      ...['RegentRecoveryPointFar', 'RegentBackupStoreSilent', 'RegentArchiveHole'],
    ])
    for (const [alert = '', chapter] of chapters)
      expect(chapter).toBe(`docs/guide/failure-modes.md#${alert.toLowerCase()}`)
  })

  it('says by the values what is too old, and how far a recovery point may be', async () => {
    const rules = { enabled: true, newestBackupHours: 200, verifiedBackupDays: 40, recoveryPointSeconds: 4_000 }
    const said = new Map(
      alerts(await render('regent', { monitoring: { rules } })).map(({ alert, expr }) => [alert, expr]),
    )
    expect(said.get('RegentBackupOld')).toContain('regent_backup_newest_timestamp_seconds) > 720000 or ')
    expect(said.get('RegentBackupNotVerified')).toContain('regent_backup_verified_timestamp_seconds) > 3456000 or ')
    expect(said.get('RegentRecoveryPointFar')).toContain('regent_backup_recovery_point_seconds) > 4000 or ')
  })

  it('looks at this chart’s managers alone where other controllers use the same names', () => {
    const shared = alerts().filter(({ expr }) => /controller_runtime_|rest_client_/.test(expr))
    expect(shared.map(({ alert }) => alert)).toEqual(['RegentReconcilesFail', 'RegentApiServerFails'])
    for (const { expr } of shared)
      expect(expr.match(/\{/g)).toHaveLength(expr.match(/\{namespace="regent",pod=~"regent-\.\*"/g)?.length ?? 0)
  })

  it('leads to where people read, and counts the managers that are wanted', async () => {
    const other = await render('regent', {
      replicas: 3,
      monitoring: { rules: { enabled: true, runbook: 'https://docs.example.org/failures' } },
    })
    expect(alerts(other).map(({ annotations }) => annotations.runbook_url)).toContain(
      'https://docs.example.org/failures#regent-itself',
    )
    expect(alerts(other).find(({ alert }) => alert === 'RegentManagerMissing')?.expr).toBe('count(regent_leader) < 3')
  })
})

describeCharts('the dashboard', () => {
  it('is a ConfigMap that Grafana finds', () => {
    const map = only(objects, 'ConfigMap', 'regent-dashboard')
    expect(map.metadata.labels).toMatchObject({ grafana_dashboard: '1' })
    expect(JSON.parse((map['data'] as Readonly<Record<string, string>>)['regent.json'] ?? '')).toMatchObject({
      title: 'Regent',
      panels,
    })
  })

  it('asks for metrics that the code has', () => {
    const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(asked.length).toBeGreaterThan(15)
    for (const expr of asked) expect(unknownIn(expr), expr).toEqual([])
  })

  it('shows clusters of the namespaces that are chosen, and tells those of one name apart', () => {
    const asked = panels
      .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      .filter((expr) => expr.includes('cluster=~'))
    expect(asked.length).toBeGreaterThan(10)
    for (const expr of asked)
      expect(expr.match(/cluster=~"\$cluster"/g)).toHaveLength(
        expr.match(/\{namespace=~"\$cluster_namespace",cluster=~"\$cluster"/g)?.length ?? 0,
      )
  })

  it('explains every panel, and puts none above another', () => {
    const shown = panels.filter(({ targets }) => targets !== undefined)
    expect(shown.filter(({ description = '' }) => !description.endsWith('.')).map(({ title }) => title)).toEqual([])
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })
})

function alerts(rendered: readonly Rendered[] = objects): readonly Alert[] {
  return (
    only(rendered, 'PrometheusRule')['spec'] as { readonly groups: readonly { readonly rules: readonly Alert[] }[] }
  ).groups.flatMap(({ rules }) => rules)
}

/** A primary with a store of backups, which has all of their metrics. */
const withBackups = anObservation({
  backups: {
    ...{ whole: 1, leftovers: 0, begun: null, answers: true, sentence: '', lookedAgoMs: 0 },
    newest: { name: '20261126T031209Z', endedAtMs: 1, rawBytes: 1, storedBytes: 1, tookMs: 1 },
    verified: { name: '20261126T031209Z', verifiedAtMs: 1, restoreMs: 1 },
  },
  binlogArchive: { behindMs: 0, hole: '', trouble: '' },
  backupFailures: { backup: 0, rehearsal: 0, archive: 0, retention: 0 },
})

/** Every metric of managers and agents, and its type. */
async function metricsInCode(): Promise<ReadonlyMap<string, string>> {
  const runtime = new Registry()
  createRuntimeMetrics(runtime).forController('any', 1, { depth: () => 0, runningMs: () => [] })
  const texts = [await createMetrics().text(), await runtime.metrics(), agentMetrics(withBackups)]
  return new Map(
    texts.flatMap((text) =>
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
    ),
  )
}

/** Metrics of an expression that nobody serves: of a histogram those are its parts, not itself. */
function unknownIn(expr: string): readonly string[] {
  const names =
    expr.match(/\b(regent|controller_runtime|workqueue|rest_client|leader_election|process|nodejs)_\w+/g) ?? []
  expect(names.length, expr).toBeGreaterThan(0)
  return names.filter((name) => {
    const [, base = '', part] = /^(.*?)(_bucket|_sum|_count)?$/.exec(name) ?? []
    return part === undefined ? !known.has(name) || known.get(name) === 'histogram' : known.get(base) !== 'histogram'
  })
}
