import type { OperationResult } from '#api-contract/operation-result.ts'
import type { OperationName, OperationRequest } from '#api-contract/operations.ts'
import { Asking, type OperatedCluster } from './asking.ts'
import { backup } from './backup.ts'
import { downtime, endDowntime } from './downtime.ts'
import { failover } from './failover.ts'
import { fence, unfence } from './fence.ts'
import { pause, resume } from './pause.ts'
import type { Performer } from './performer.ts'
import { rehearse } from './rehearse.ts'
import { replace } from './replace.ts'
import { reseed } from './reseed.ts'
import { restart } from './restart.ts'
import { scale } from './scale.ts'
import { switchover } from './switchover.ts'
import { testHooks } from './test-hooks.ts'

/** What is done on each operation of `src/api-contract/operations.ts`. */
const performers: { readonly [N in OperationName]: Performer<N> } = {
  switchover,
  failover,
  fence,
  unfence,
  pause,
  resume,
  downtime,
  'end-downtime': endDowntime,
  backup,
  rehearse,
  scale,
  replace,
  reseed,
  restart,
  'test-hooks': testHooks,
}

/** What people ask of a cluster: checked and planned by the same pure code that decides, then handed to its loop. */
export class Operations {
  readonly #cluster: OperatedCluster

  constructor(cluster: OperatedCluster) {
    this.#cluster = cluster
  }

  async perform<N extends OperationName>(name: N, request: OperationRequest<N>): Promise<OperationResult> {
    const { dryRun } = request
    const asking = new Asking(this.#cluster, dryRun)
    const plan = performers[name](asking, request)
    if ('needless' in plan) return { done: false, dryRun, sentence: plan.needless }
    const { sentence, plan: steps, ...told } = dryRun ? plan.would : await plan.act()
    return {
      done: !dryRun,
      dryRun,
      ...told,
      sentence: asking.printed(sentence),
      ...(steps && { plan: steps.map((each) => asking.printed(each)) }),
    }
  }
}
