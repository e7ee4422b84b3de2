import { codeOf, describeError } from '#common/errors/errors.ts'
import { noTrouble, whyNoCommit, type Trouble } from './store-trouble.ts'

/** Where the loop of a cluster is. Only `reduce` changes it. */
export interface LoopState {
  /** What was told last of leadership, and the number of that word. */
  readonly told: { readonly leads: boolean; readonly word: number }
  /** Told so, and everything was read after that. */
  readonly leads: boolean
  readonly leadsSinceMs: number
  readonly trouble: Trouble
  /** Turns never overlap. `woken`: in the midst of one something happened that may change what is acted on. */
  readonly turn: 'none' | 'due' | 'under way' | 'woken'
}

export const atFirst: LoopState = {
  told: { leads: false, word: 0 },
  leads: false,
  leadsSinceMs: 0,
  trouble: noTrouble,
  turn: 'none',
}

/** What follows: a turn is taken, or the store is looked at. */
export type Todo = 'turn' | 'look' | 'look later'

type Change = Partial<LoopState> & { readonly todo?: 'wake' | 'look' | 'look later' }
type Bare = object

const wake = { todo: 'wake' } as const
const turnOfWoken = { none: 'due', due: 'due', 'under way': 'woken', woken: 'woken' } as const

/** Everything that may happen to a loop, and what that changes. Pure. */
const events = {
  woken: (): Change => wake,
  turnBegan: (_: Bare, state: LoopState): Change => ({ turn: speaks(state) ? 'under way' : 'none' }),
  turnEnded: (_: Bare, { turn }: LoopState): Change => ({ turn: 'none', ...(turn === 'woken' && wake) }),

  /** A new leader reads everything before it decides. What was told last counts, also where that came meanwhile. */
  told: ({ leads }: { leads: boolean }, state: LoopState): Change => ({
    told: { leads, word: state.told.word + 1 },
    ...(leads ? state.leads && wake : { leads, ...troubled(state, { reading: '', committing: '' }) }),
  }),
  readForWord: ({ word, nowMs }: { word: number; nowMs: number }, { told }: LoopState): Change =>
    told.leads && told.word === word ? { leads: true, leadsSinceMs: nowMs, ...wake } : {},

  /** The store took something (''), or did not, and why. Nothing else tells that a record was mended. */
  storeSaid: ({ store }: { store: string }, state: LoopState): Change => ({
    ...troubled(state, { store }),
    ...(store === '' && state.trouble.reading !== '' && { todo: 'look' }),
  }),
  read: (_: Bare, state: LoopState) => troubled(state, { reading: '' }),
  unreadable: ({ error }: { error: unknown }, state: LoopState) =>
    troubled(state, {
      reading: describeError(error),
      isDamaged: ['REGENT_STORE_DAMAGED', 'REGENT_NEWER_VERSION'].includes(codeOf(error)),
    }),
  /** An agent was told a newer record: a leader that decides now hears of that after its turn. */
  heardNewer: (_: Bare, { leads, turn }: LoopState): Change =>
    turn === 'under way' || turn === 'woken' ? wake : { todo: leads ? 'look' : 'look later' },

  refused: ({ error }: { error: unknown }, state: LoopState): Change =>
    state.leads ? troubled(state, { committing: describeError(error) }) : {},
  nothingToCommit: (_: Bare, state: LoopState) => troubled(state, { committing: '' }),
  storeTakes: (): Change => ({ trouble: noTrouble }),
} satisfies Readonly<Record<string, (of: never, state: LoopState) => Change>>

type EventName = keyof typeof events
type Of<N extends EventName> = Parameters<(typeof events)[N]> extends [infer T, ...unknown[]] ? Readonly<T> : Bare
export type LoopEvent = { [N in EventName]: { readonly event: N } & Of<N> }[EventName]

/** A first trouble that comes, or the last one that goes, wakes too; another reason alone may be of this very turn. */
export function reduce(
  before: LoopState,
  { event, ...of }: LoopEvent,
): { readonly state: LoopState; readonly todo: readonly Todo[] } {
  const happened = events[event] as (of: object, state: LoopState) => Change
  const { todo, ...change } = happened(of, before)
  const after = { ...before, ...change }
  const turns = (whyNoCommit(before.trouble) === '') !== (whyNoCommit(after.trouble) === '')
  const wakes = (todo === 'wake' || turns) && speaks(after)
  const state = wakes ? { ...after, turn: turnOfWoken[after.turn] } : after
  const looks = todo === undefined || todo === 'wake' ? [] : [todo]
  return { state, todo: state.turn === 'due' && before.turn !== 'due' ? [...looks, 'turn'] : looks }
}

/**
 * A manager that lost its claim because the store is gone goes on saying what it sees, and so does one that cannot take
 * up its claim because the record cannot be read.
 */
export function speaks({ leads, told, trouble }: LoopState): boolean {
  return leads || trouble.store !== '' || (told.leads && trouble.reading !== '')
}

function troubled({ trouble }: LoopState, why: Partial<Trouble>): Pick<LoopState, 'trouble'> {
  return { trouble: { ...trouble, ...why } }
}
