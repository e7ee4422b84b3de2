import { ProcessGroups } from '#agents/lifecycle/actions/process-groups.ts'
import { bash, testingPipes } from '#agents/lifecycle/testing.ts'
import type { Loaded } from '#agents/lifecycle/worker/load-copy.ts'
import { loadReplica } from '#agents/lifecycle/worker/new-replica.ts'
import { describeError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'

const load = bash('dataLoad', 'cat > "$FOLDER/data" && touch "$FOLDER/done"')

/** How a load ended: as `loadReplica` resolves, or why it failed. */
export type LoadOutcome = (Loaded & { readonly failure?: undefined }) | { readonly failure: string }

/** Loads what a source on loopback streams into a folder: `data`, and `done` where the input was seen to its end. */
export async function loadIn(folder: string, { port }: { readonly port: number }): Promise<LoadOutcome> {
  const { PATH = '' } = process.env
  return loadReplica(
    'shop-mysql-1',
    { UID: 'load-1', remote: '127.0.0.1', port },
    {
      actions: new Map([[load.name, load]]),
      environment: { PATH, FOLDER: folder },
      world: { groups: new ProcessGroups(testingPipes), timers: realWorld.timers },
      token: undefined,
      signal: new AbortController().signal,
      progress: () => undefined,
    },
  ).catch((error: unknown) => ({ failure: describeError(error) }))
}
