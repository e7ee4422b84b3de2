import { readFileSync } from 'node:fs'
import type { RouterView } from '#api-contract/views.ts'
import { routerAddress, type LocalCluster } from '#local/folder/cluster-file.ts'
import { routerStatePath, type StateLayout } from '#local/folder/state-layout.ts'

/** The router of a local cluster, which says where it leads whenever that changes; undefined where there is none. */
export function localRouter(
  layout: StateLayout,
  { number, router }: Pick<LocalCluster, 'number' | 'router'>,
): RouterView | undefined {
  return router && { ...routerAddress({ number }), sentence: sentenceIn(routerStatePath(layout)) }
}

function sentenceIn(path: string): string {
  try {
    const { sentence } = JSON.parse(readFileSync(path, 'utf8')) as { readonly sentence?: unknown }
    return typeof sentence === 'string' ? sentence : 'the router says nothing that is understood'
  } catch {
    return 'the router has not said yet where it leads'
  }
}
