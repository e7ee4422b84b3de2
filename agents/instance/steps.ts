import type { Sentence } from '#common/sentence/sentence.ts'
import type { Fact } from './facts.ts'
import type { Parts } from './parts.ts'
import type { StoredState } from './stored-state.ts'

/** Does one thing with the ports that are needed, by what was decided. Resolves to what was found out by it. */
export type Performers = Readonly<Record<string, (ports: Parts, decided: never) => Promise<void> | Promise<Fact>>>

/** What a table can perform: `do` names the row, the rest is what was decided. */
export type StepOf<T extends Performers> = {
  [N in keyof T]: { readonly do: N } & (Parameters<T[N]> extends [unknown, infer Decided] ? Readonly<Decided> : object)
}[keyof T]

/** What is done in any mode. */
export const commonSteps = {
  /** Tells people what happened. */
  notice: async ({ notices }, { code, sentence }: { code: string; sentence: Sentence }) => notices.add(code, sentence),
  /** On disk in the midst of steps: what may be so only once the step before is done. */
  store: async ({ file }, { change }: { change: Partial<StoredState> }) => void (await file.update(change)),
  /** Known in the midst of steps. */
  know: async (_, { fact }: { fact: Fact }) => fact,
  /** What the agent has changed: whatever was seen before is not looked at again. */
  outdate: async ({ observer }) => observer.outdate(),
  closeForWrites: async ({ server }) => {
    await server.setReadOnly('closed')
    return { fact: 'closedByAgent' } as const
  },
  setOffline: ({ server }, { on }: { on: boolean }) => server.setOffline(on),
  /** Before anybody is let in clients are shown what they are to be shown. */
  open: async ({ server, clientCertificate }) => {
    await clientCertificate?.show()
    await server.open()
  },
  kill: ({ process }) => process.kill(),
} satisfies Performers

export type Step = StepOf<typeof commonSteps>
