import type { ClusterNotes } from '#failover/protocol/notes.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'
import { aSituation, type SituationOverrides } from '#failover/testing.ts'
import type { Request } from '#failover/judge/situation.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { Platform } from '#common/ports/platform.ts'
import type { ClusterLoop } from '#manager/loop/cluster-loop.ts'
import type { EndedRecovery } from '#manager/loop/books/recovery-book.ts'
import { Operations } from './operations.ts'

/**
 * Operations of a cluster in this situation, on a platform that makes volumes anew and writes down what it was told; or
 * on one that cannot.
 */
export function operationsOn(
  { isPausedByResource = false, ...given }: SituationOverrides & { readonly isPausedByResource?: boolean },
  makesVolumes: boolean | (() => Promise<void>) = true,
  hasRecord = true,
  ended: (
    matches: (recovery: EndedRecovery) => boolean,
    request: string,
  ) => Promise<EndedRecovery | undefined> = async () => undefined,
) {
  const replaced: (readonly [string, boolean])[] = []
  let notes = aSituation(given).notes
  const asked: Request[] = []
  const open: Request[] = []
  let givenUp: readonly MemberId[] = []
  const input = () => ({ ...aSituation(given), requests: open, givenUp, ...(hasRecord ? {} : { record: undefined }) })
  const changeNotes = async (change: (before: ClusterNotes) => ClusterNotes) => void (notes = change(notes))
  const loop = {
    input,
    decision: null,
    leads: true,
    record: undefined,
    changeNotes,
    addRequest: (request: Request) => void [asked, open].map((all) => all.push(request)),
    giveUp: (member: MemberId) => {
      givenUp = [...givenUp, member]
      return () => void (givenUp = givenUp.filter((one) => one !== member))
    },
    dropRequest: () => void open.splice(0),
    spec: aSituation(given).spec,
  } as Partial<ClusterLoop> as ClusterLoop
  const making = makesVolumes === true ? async () => undefined : makesVolumes
  const platform: Pick<Platform, 'replace'> = making
    ? { replace: async (...told) => (replaced.push(told), making()) }
    : {}
  const declined: string[] = []
  const tried: HookDocument[] = []
  const posted: { readonly address: string; readonly path: string; readonly body: unknown }[] = []
  return {
    replaced,
    declined,
    posted,
    tried,
    asked,
    notes: () => notes,
    operations: new Operations({
      loop,
      world: realWorld,
      platform,
      transport: {
        post: async (address, path, body) => {
          posted.push({ address, path, body })
          return {}
        },
      },
      hooks: { machine: 'here', run: async (_, told) => (tried.push(told), { isDone: true, said: 'exit 0' }) },
      isPausedByResource: () => isPausedByResource,
      ended: (matches) => ended(matches, asked.at(-1)?.id ?? ''),
      declined: (sentence) => void declined.push(sentence),
    }),
  }
}
