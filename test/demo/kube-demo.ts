import { parseArgs } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '#common/errors/errors.ts'
import type { ClusterView } from '#api-contract/views.ts'
import { KubeCluster } from '../e2e/kube-cluster.ts'
import { isOwnCluster } from '../e2e/own-cluster.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Writer } from '../support/writer.ts'
import { checkWrites } from './acts.ts'
import { draw } from './draw.ts'
import { cutPower, handOverAndScaleIn, killMysqld, switchover } from './kube-acts.ts'
import { screenFor, type Screen } from './screen.ts'

/** What `npm run demo -- --kube` shows, run where it reaches the cluster that `test/e2e/on-kubernetes.ts` makes. */
const lookEveryMs = 250

async function demo(screen: Screen, keep: boolean): Promise<boolean> {
  if (!isOwnCluster)
    throw new Error(
      'the demo kills processes and cuts the power of nodes: it runs on the cluster of npm run kube alone. Unset REGENT_E2E_KUBECONFIG',
    )
  const began = monotonicMs()
  const cluster = await KubeCluster.at('demo', 'demo')
  await cluster.ensure()
  await cluster.whole(3, 180_000)
  const version = (await cluster.view()).instances[0]?.version ?? ''
  screen.print(
    '',
    `Regent on Kubernetes: three MySQL ${version} servers on three nodes, and one client that writes every 10 ms through Service demo-primary.`,
    '',
  )
  const fine = await play(screen, cluster)
  screen.print('', `    ${((monotonicMs() - began) / 1_000).toFixed(0)} s in all`, ...(keep ? commandsToTry : []))
  return fine
}

async function play(screen: Screen, cluster: KubeCluster): Promise<boolean> {
  const writer = await Writer.start(cluster, { lifeMs: 1_800_000 })
  const seen = lookAgainAndAgain(await KubeCluster.at(cluster.namespace, cluster.name))
  const stopDrawing = draw(screen, writer, () => seen.latest)
  const stage = { screen, cluster, writer }
  try {
    await killMysqld(stage)
    await switchover(stage)
    await handOverAndScaleIn(stage)
    await cutPower(stage)
    return await checkWrites(stage)
  } finally {
    stopDrawing()
    await writer.stop()
  }
}

/** What the leading manager says, and what it said last while nobody answers. */
function lookAgainAndAgain(cluster: KubeCluster): { readonly latest: ClusterView | undefined } {
  const seen: { latest: ClusterView | undefined } = { latest: undefined }
  const look = async (): Promise<never> => {
    for (;;) {
      seen.latest = await cluster.view().catch(() => seen.latest)
      await sleep(lookEveryMs)
    }
  }
  void look()
  return seen
}

const commandsToTry: readonly string[] = [
  '',
  'The cluster stays up. Try:',
  '  npm run kube -- exec kubectl -n demo get mysql,pods -L regent.dev/role -o wide',
  '  npm run kube -- exec kubectl regent topology demo -n demo',
  '  npm run kube -- exec kubectl regent recoveries demo -n demo',
  '  npm run kube -- exec kubectl -n demo delete pod demo-0 --grace-period 0 --force',
  '  npm run kube -- cut n3; npm run kube -- mend n3',
  '  npm run kube -- down',
  '',
]

try {
  const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } })
  process.exit((await demo(screenFor(process.stdout, process.env), values.keep)) ? 0 : 1)
} catch (error) {
  console.error(describeError(error))
  process.exit(1)
}
