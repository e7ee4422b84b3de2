import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Clock, Machine } from '#common/ports/ports.ts'
import { codeOf } from '#common/errors/errors.ts'
import { say, type Sayable } from '#common/sentence/sentence.ts'
import type { Cell, Cells, Lease } from './cells.ts'
import { parseVersioned } from './shape.ts'
import type { Leadership } from './store.ts'

const leaseVersion = 1

const leaseShape = Compile(
  Type.Object(
    {
      version: Type.Integer({ minimum: 1 }),
      manager: Type.String(),
      fencingToken: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
      bootId: Type.String(),
      expiresMonotonicMs: Type.Number(),
    },
    { additionalProperties: false },
  ),
)

interface Held {
  readonly manager: string
  readonly fencingToken: number
  readonly bootId: string
  readonly expiresMonotonicMs: number
}

const nobody: Held = { manager: '', fencingToken: 0, bootId: '', expiresMonotonicMs: 0 }

/** Where not even the place of a text is left, the lease is taken away and begins anew. */
async function soundLease(cells: Cells, signal: AbortSignal): Promise<Cell | undefined> {
  try {
    return await cells.read('leader', signal)
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BAD_FILE') throw error
    await cells.remove('leader', signal)
    return undefined
  }
}

/**
 * A damaged lease is nobody's. Safety rests on the record: at worst two managers work for a moment. Each taking raised
 * the revision, so no token was above it.
 */
function leaseIn({ text, revision }: Cell, where: Sayable): Held {
  const unheld = { ...nobody, fencingToken: revision }
  try {
    const lease = parseVersioned(text, leaseVersion, where)
    return leaseShape.Check(lease) ? lease : unheld
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BAD_FILE') throw error
    return unheld
  }
}

/**
 * A leader's lease kept in a cell, for managers on one machine: its end is counted on the machine's monotonic clock,
 * which all processes share, and it ends with the boot it was taken in. The token grows with every taking that is not a
 * renewal in time.
 */
export function cellLease(cells: Cells, world: { readonly clock: Clock; readonly machine: Machine }): Lease {
  const where = say`${cells.place}: leader`

  async function change(
    wanted: (held: Held, now: { bootId: string; monotonicMs: number }) => Held | undefined,
    signal: AbortSignal,
  ): Promise<Held | undefined> {
    const bootId = await world.machine.bootId()
    for (;;) {
      const cell = await soundLease(cells, signal)
      const held = cell === undefined ? nobody : leaseIn(cell, where)
      const next = wanted(held, { bootId, monotonicMs: world.clock.monotonicMs() })
      if (next === undefined) return undefined
      const revision = cell?.revision ?? 0
      // Lost only to somebody whose swap was done, so that some manager always comes through; the deadline ends it
      // otherwise.
      if (
        await cells.swap(
          'leader',
          revision,
          { revision: revision + 1, text: JSON.stringify({ version: leaseVersion, ...next }) },
          signal,
        )
      )
        return next
    }
  }

  return {
    async lead(manager, ttlMs, signal): Promise<Leadership | undefined> {
      const taken = await change((held, now) => {
        const live = held.manager !== '' && held.bootId === now.bootId && held.expiresMonotonicMs > now.monotonicMs
        if (live && held.manager !== manager) return undefined
        const fencingToken = live ? held.fencingToken : held.fencingToken + 1
        return { manager, fencingToken, bootId: now.bootId, expiresMonotonicMs: now.monotonicMs + ttlMs }
      }, signal)
      return taken && { manager, fencingToken: taken.fencingToken }
    },

    async resign(manager, signal) {
      await change(
        (held) => (held.manager === manager ? { ...nobody, fencingToken: held.fencingToken } : undefined),
        signal,
      )
    },
  }
}
