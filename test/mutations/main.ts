import { parseArgs } from 'node:util'
import { mutations } from './list/all.ts'
import type { Mutation } from './mutation.ts'
import { check, lookFor } from './look.ts'
import { isByScript, readResults, type Result } from './results.ts'
import { playScripts, scenarios } from './scripts.ts'
import { root, Tree } from './tree.ts'

const help = `Takes one rule of safety after the other away from a copy of the code, and plays scripts, then simulated schedules, until one breaks.

    npm run mutations                               looks for each that is in the list, and stores what was found
    npm run mutations -- --only ID,ID               these alone
    npm run mutations -- --missing                  those alone that were not found yet
    npm run mutations -- --by-seed                  those alone that only a seed has found yet
    npm run mutations -- --seeds N --seed S         at most N schedules for each, seeds S, S + 1, …
    npm run mutations -- --check                    whether each is still found as stored, or soon otherwise
    npm run mutations -- --check --part N --seed S  N of them, drawn by the seed S (default: a random one)
    npm run mutations -- --workers W                W at once (default 1)

The exit code is 1 where a mutation was not found.`

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      missing: { type: 'boolean', default: false },
      'by-seed': { type: 'boolean', default: false },
      seeds: { type: 'string' },
      seed: { type: 'string' },
      part: { type: 'string' },
      workers: { type: 'string', default: '1' },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  const known = await readResults()
  const listed = mutations.filter(({ id }) => isAsked(values, id, known[id]))
  const drawnBy = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000))
  const wanted = values.part === undefined ? listed : drawn(listed, Number(values.part), drawnBy)
  const asked = { seeds: Number(values.seeds ?? 200), seed: Number(values.seed ?? 1) }
  const look = values.check ? check : lookFor
  await requireSoundScripts()
  console.log(`${wanted.length} of ${mutations.length} mutations${values.part ? `, drawn by seed ${drawnBy}` : ''}`)
  const survivors = await lookForAll(wanted, (tree, one) => look(tree, one, asked), Math.max(1, Number(values.workers)))
  if (survivors.length > 0) console.log(`not found: ${survivors.join(', ')}`)
  return survivors.length > 0 ? 1 : 0
}

/** A script that fails with the whole code as well shows nothing. */
async function requireSoundScripts(): Promise<void> {
  const broken = await playScripts(root, { script: scenarios })
  if (broken !== undefined)
    throw new Error(`${broken.script} "${broken.title}" fails with the whole code: ${broken.broke}`)
}

interface Which {
  readonly only?: string | undefined
  readonly check: boolean
  readonly missing: boolean
  readonly 'by-seed': boolean
}

function isAsked({ only, ...which }: Which, id: string, found: Result | undefined): boolean {
  if (only !== undefined) return only.split(',').includes(id)
  if (which.check) return found !== undefined
  if (which['by-seed']) return found !== undefined && !isByScript(found)
  return !(which.missing && found !== undefined)
}

/** Which ones follows from the seed alone. */
function drawn(list: readonly Mutation[], count: number, seed: number): readonly Mutation[] {
  const place = (index: number): number => Math.imul(index + 1, 0x9e3779b1 ^ seed) >>> 0
  const ordered = list.map((mutation, index) => ({ mutation, at: place(index) })).toSorted((a, b) => a.at - b.at)
  return ordered.slice(0, count).map(({ mutation }) => mutation)
}

async function lookForAll(
  wanted: readonly Mutation[],
  look: (tree: Tree, mutation: Mutation) => Promise<boolean>,
  workers: number,
): Promise<readonly string[]> {
  const queue = [...wanted]
  const survivors: string[] = []
  const work = async (): Promise<void> => {
    const tree = await Tree.copy()
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (!(await look(tree, next))) survivors.push(next.id)
      }
    } finally {
      await tree.remove()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return survivors
}
