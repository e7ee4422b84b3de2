import { parseArgs } from 'node:util'
import { mutations } from './list/all.ts'
import type { Mutation } from './mutation.ts'
import { readResults, writeResults, type Result } from './results.ts'
import { playIn, root, Tree } from './tree.ts'

const help = `Takes one rule of safety after the other away from a copy of the code, and plays simulated schedules until one breaks.

    npm run mutations                               looks for each that is in the list, and stores what was found
    npm run mutations -- --only ID,ID               these alone
    npm run mutations -- --missing                  those alone that were not found yet
    npm run mutations -- --seeds N --seed S         at most N schedules for each, seeds S, S + 1, …
    npm run mutations -- --check                    whether each is still found by its stored seed, or soon by another
    npm run mutations -- --check --part N --seed S  N of them, drawn by the seed S (default: a random one)
    npm run mutations -- --workers W                W at once (default 1)

The exit code is 1 where a mutation was not found and the list does not say why.`

interface Asked {
  readonly seeds: number
  readonly seed: number
  readonly isCheck: boolean
}

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      missing: { type: 'boolean', default: false },
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
  const only = values.only?.split(',')
  const isAsked = (id: string): boolean => {
    if (only !== undefined) return only.includes(id)
    const wasFound = known[id] !== undefined
    return values.check ? wasFound : !(values.missing && wasFound)
  }
  const listed = mutations.filter(({ id }) => isAsked(id))
  const drawnBy = Number(values.seed ?? Math.floor(Math.random() * 1_000_000_000))
  const wanted = values.part === undefined ? listed : drawn(listed, Number(values.part), drawnBy)
  const asked = { seeds: Number(values.seeds ?? 200), seed: Number(values.seed ?? 1), isCheck: values.check }
  console.log(`${wanted.length} of ${mutations.length} mutations${values.part ? `, drawn by seed ${drawnBy}` : ''}`)
  const survivors = await lookForAll(wanted, asked, Math.max(1, Number(values.workers)))
  if (survivors.length > 0) console.log(`not found: ${survivors.join(', ')}`)
  const unexplained = mutations.filter(({ id, survives }) => survivors.includes(id) && survives === undefined)
  return unexplained.length > 0 ? 1 : 0
}

/** Which ones follows from the seed alone. */
function drawn(list: readonly Mutation[], count: number, seed: number): readonly Mutation[] {
  const place = (index: number): number => Math.imul(index + 1, 0x9e3779b1 ^ seed) >>> 0
  const ordered = list.map((mutation, index) => ({ mutation, at: place(index) })).toSorted((a, b) => a.at - b.at)
  return ordered.slice(0, count).map(({ mutation }) => mutation)
}

async function lookForAll(wanted: readonly Mutation[], asked: Asked, workers: number): Promise<readonly string[]> {
  const queue = [...wanted]
  const survivors: string[] = []
  const work = async (): Promise<void> => {
    const tree = await Tree.copy()
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { id } = next
        const found = await (asked.isCheck ? check(tree, next, asked) : lookFor(tree, next, asked))
        if (!found) survivors.push(id)
      }
    } finally {
      await tree.remove()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return survivors
}

/** A seed that breaks a rule with the whole code shows nothing. */
async function lookFor(tree: Tree, mutation: Mutation, { seed, seeds }: Asked): Promise<boolean> {
  const { id, family } = mutation
  const beganMs = performance.now()
  const end = seed + seeds
  for (let first = seed; first < end;) {
    const found = await tree.playWithout(mutation, { first, count: end - first, family }).catch((error: unknown) => {
      console.log(`${id}: ${String(error).slice(0, 300)}`)
      return { seed: end, broke: undefined }
    })
    first = found.seed + 1
    if (found.broke === undefined) continue
    const clean = await playIn(root, { first: found.seed, count: 1, family })
    if (clean.broke !== undefined) {
      console.log(`${id}: seed ${found.seed} breaks a rule with the whole code: ${clean.broke}`)
      continue
    }
    const seconds = Math.round((performance.now() - beganMs) / 100) / 10
    await keep(id, { seed: found.seed, schedules: first - seed, seconds, broke: found.broke })
    return true
  }
  console.log(`${id}: NOT found by ${seeds} schedules`)
  return false
}

async function keep(id: string, result: Result): Promise<void> {
  console.log(`${id}: found by seed ${result.seed}, schedule ${result.schedules}, ${result.seconds} s: ${result.broke}`)
  const ids = mutations.map((mutation) => mutation.id)
  await writeResults({ ...(await readResults()), [id]: result }, ids)
}

/** By its stored seed, or by one of a few: what the code does between changes what follows from a seed. */
async function check(tree: Tree, mutation: Mutation, { seeds }: Asked): Promise<boolean> {
  const { id, family } = mutation
  const stored = (await readResults())[id]
  if (stored === undefined) {
    console.log(`${id}: was never found`)
    return false
  }
  const same = await tree.playWithout(mutation, { first: stored.seed, count: 1, family })
  if (same.broke !== undefined) {
    console.log(`${id}: still found by seed ${stored.seed}`)
    return true
  }
  const other = await tree.playWithout(mutation, { first: 1, count: seeds, family })
  if (other.broke === undefined) console.log(`${id}: NOT found by seed ${stored.seed}, nor by ${seeds} others`)
  else console.log(`${id}: found by seed ${other.seed} and no more by ${stored.seed}: --only ${id} stores that`)
  return other.broke !== undefined
}
