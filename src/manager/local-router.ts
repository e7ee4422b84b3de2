import { readFileSync } from 'node:fs'
import type { RouterView } from '#api-contract/views.ts'
import { fits } from '#common/input/fits.ts'
import { anyText, integer, objectWith, optional } from '#common/input/shapes.ts'
import { isAlive } from '#common/process/process-stat.ts'
import { routerAddress, type LocalCluster } from '#local/folder/cluster-file.ts'
import { routerStatePath, type StateLayout } from '#local/folder/state-layout.ts'

const number = integer(0, Number.MAX_SAFE_INTEGER)
/** The process tells whether the sentence is of a router that runs. A router of an older version names none. */
const stateShape = objectWith({ sentence: anyText, process: optional(objectWith({ pid: number, startTicks: number })) })

/** The router of a local cluster, which says where it leads whenever that changes; undefined where there is none. */
export function localRouter(
  layout: StateLayout,
  { number, router }: Pick<LocalCluster, 'number' | 'router'>,
): RouterView | undefined {
  return router && { ...routerAddress({ number }), sentence: sentenceIn(routerStatePath(layout)) }
}

function sentenceIn(path: string): string {
  try {
    const state = JSON.parse(readFileSync(path, 'utf8')) as unknown
    if (!fits(stateShape, state)) return 'the router says nothing that is understood'
    const isOver = state.process !== undefined && !isAlive(state.process)
    return !isOver ? state.sentence : `the router does not run; its last word: ${state.sentence}`
  } catch {
    return 'the router has not said yet where it leads'
  }
}
