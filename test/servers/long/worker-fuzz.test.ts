import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packFolder } from '#agents/lifecycle/copy/pack-folder.ts'
import type { LoadedNote } from '#agents/lifecycle/worker/load-folder.ts'
import { freshSeeds } from '#test/support/draws.ts'
import { FaultySource, type Fault, type FaultyStream } from '#test/support/faulty-source.ts'
import { processesNaming } from '#test/support/leftovers.ts'

/** What was found once is found again; and `npm run test:all` looks at what no run looked at. */
const seeds: readonly (readonly [string, number])[] = [
  ['a fixed seed', 20_260_101],
  ...freshSeeds(1).map((fresh) => ['a fresh seed', fresh] as const),
]
const rounds = 2
const atATime = 3
const main = join(import.meta.dirname, '..', '..', '..', 'src', 'main.ts')

/** A data folder as far as a load looks at it. */
const tree: Readonly<Record<string, Buffer>> = {
  ibdata1: Buffer.alloc(100_000, 'system'),
  'mysql.ibd': Buffer.from('dictionary'),
  '#innodb_redo/#ib_redo1': Buffer.alloc(40_000, 7),
  undo_001: Buffer.alloc(0),
  [`app/${'t'.repeat(150)}.ibd`]: Buffer.alloc(30_001, 'rows'),
}

let folder = ''
let dump: Buffer
const sources: FaultySource[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-worker-fuzz-'))
  const from = join(folder, 'source')
  for (const [name, content] of Object.entries(tree)) {
    await mkdir(join(from, name, '..'), { recursive: true })
    await writeFile(join(from, name), content)
  }
  const at = { mysql: '9.7.4', serverUuid: 'uuid', instance: 'shop-1', cluster: 'shop', atLeast: '', atMost: '' }
  dump = await buffer(Readable.from(packFolder(from, { version: 1, ...at })))
  for (let slot = 0; slot < atATime; slot++) sources.push(await FaultySource.start())
})

afterAll(async () => {
  for (const source of sources) await source.end()
  expect(await processesNaming(folder)).toEqual([])
  await rm(folder, { recursive: true })
})

interface Case {
  readonly name: string
  /** How the worker may end: with success, with a failure, or either. */
  readonly may: 'load' | 'fail' | 'either'
  readonly stream: FaultyStream
}

type Make = (tar: Buffer) => Case

const places = fc.array(fc.nat(), { maxLength: 6 })
const then = fc.constantFrom('ends', 'resets')
const noise = (maxLength: number) => fc.uint8Array({ minLength: 1, maxLength }).map((bytes) => Buffer.from(bytes))

/** The dump in frames, with one fault. */
function inFrames(name: string, may: Case['may'], faults: fc.Arbitrary<Fault>): fc.Arbitrary<Make> {
  return fc.tuple(faults, places, places).map(([fault, writes, frames]): Make => (tar) => ({
    name,
    may,
    stream: { parts: cut(tar, frames), fault, places: writes },
  }))
}

/** Bytes that come without frames. */
function bare(name: string, may: Case['may'], change: fc.Arbitrary<(tar: Buffer) => Buffer>): fc.Arbitrary<Make> {
  return fc.tuple(change, places, then).map(([changed, writes, end]): Make => (tar) => ({
    name,
    may,
    stream: { parts: [changed(tar)], fault: whole, places: writes, isBare: true, then: may === 'load' ? 'ends' : end },
  }))
}

/** A source that vouches for what is no whole dump. */
function vouched(name: string, change: fc.Arbitrary<(tar: Buffer) => Buffer>): fc.Arbitrary<Make> {
  return fc.tuple(change, places).map(([changed, frames]): Make => (tar) => ({
    name,
    may: 'fail',
    stream: { parts: cut(changed(tar), frames), fault: whole, places: [] },
  }))
}

const whole: Fault = { in: 'nothing' }
const bit = fc.integer({ min: 0, max: 7 })
const anyBlock = fc.oneof(noise(600), fc.constantFrom(Buffer.alloc(512), Buffer.from('x'), longHeader()))
/** Anywhere, and where all files have come and the end of the tar has not. */
const cutOff = fc
  .oneof(fc.nat(), fc.constantFrom(-1_024, -512))
  .map((at) => (tar: Buffer) => tar.subarray(0, at % tar.length))
const headersWithoutEnd = fc.tuple(fc.nat(), anyBlock).map(([at, block]) => (tar: Buffer) => {
  const beginning = tar.subarray(0, 512 * (at % Math.ceil(tar.length / 512)))
  return Buffer.concat([beginning, Buffer.alloc(4 * 1_048_576, block), Buffer.from('x')])
})

/** Each is tried once a round. */
const kinds: readonly fc.Arbitrary<Make>[] = [
  inFrames('nothing', 'load', fc.constant(whole)),
  inFrames(
    'cut',
    'fail',
    fc.tuple(fc.nat(), then).map(([at, end]): Fault => ({ in: 'length', at, then: end })),
  ),
  inFrames(
    'a bit',
    'either',
    fc.tuple(fc.nat(), bit).map(([at, one]): Fault => ({ in: 'bit', at, bit: one })),
  ),
  inFrames(
    'first line',
    'fail',
    fc.nat().map((at): Fault => ({ in: 'preamble', at })),
  ),
  inFrames(
    'its end',
    'fail',
    fc.constantFrom<Fault>({ in: 'count', by: 1 }, { in: 'count', by: -1 }, { in: 'checksum' }, { in: 'code' }),
  ),
  inFrames(
    'more after',
    'fail',
    noise(50).map((more): Fault => ({ in: 'after', more })),
  ),
  inFrames(
    'more before',
    'fail',
    noise(600).map((more): Fault => ({ in: 'before', more })),
  ),
  inFrames('a long frame', 'fail', fc.integer({ min: 2 ** 24 + 1, max: 2 ** 32 - 1 }).map(frameOf)),
  inFrames(
    'a line or a frame without an end',
    'fail',
    fc
      .tuple(fc.constantFrom('preamble', 'frames', 'trailer'), anyBlock)
      .map(([part, block]): Fault => ({ in: 'endless', part, block })),
  ),
  vouched('a dump that was cut', cutOff),
  vouched('headers without an end', headersWithoutEnd),
  vouched(
    'noise',
    noise(3_000).map((bytes) => () => bytes),
  ),
  bare(
    'whole, of KubeBlocks',
    'load',
    fc.constant((tar) => tar),
  ),
  bare('cut, of KubeBlocks', 'fail', cutOff),
  bare('headers without an end, of KubeBlocks', 'fail', headersWithoutEnd),
  bare(
    'noise, of KubeBlocks',
    'fail',
    noise(3_000).map((bytes) => () => bytes),
  ),
  bare(
    'nothing at all',
    'fail',
    fc.constant(() => Buffer.alloc(0)),
  ),
  fc.tuple(fc.nat(), fc.boolean()).map(([at, isBare]): Make => (tar) => {
    const parts = [tar.subarray(0, at % (tar.length + 1))]
    return { name: 'silence', may: 'fail', stream: { parts, fault: whole, places: [], isBare, then: 'holds' } }
  }),
]

function frameOf(length: number): Fault {
  return { in: 'frame', length }
}

/** The header of a name of 3 MiB, so that a name of a name of a name … comes. */
function longHeader(): Buffer {
  const block = Buffer.alloc(512)
  block.write('x')
  block.write((3 * 1_048_576).toString(8).padStart(11, '0'), 124)
  block.write('        L', 148)
  block.write('ustar  ', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function cut(bytes: Buffer, at: readonly number[]): readonly Buffer[] {
  const sorted = at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b)
  const parts = [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length))
  return parts.filter(({ length }) => length > 0)
}

/** A worker over an empty folder of its own, and how the worker ended. */
async function load(source: FaultySource, at: string, { stream }: Pick<Case, 'stream'>) {
  const [dataDir, temporary] = [join(at, 'data'), join(at, 'tmp')]
  await mkdir(temporary, { recursive: true })
  const { PATH = '', HOME = '' } = process.env
  const newReplica = { remote: '127.0.0.1', port: source.next(stream).port }
  const task = { instance: 'new', task: 'newReplica', UID: 'load-1', replicas: 'new-0', newReplica }
  const worker = spawn(process.execPath, [main, 'lifecycle-agent', '--server=false', '--data-dir', dataDir], {
    env: { PATH, HOME, TMPDIR: temporary, KB_AGENT_POD_NAME: 'new-0', KB_AGENT_TASK: JSON.stringify([task]) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const part of [worker.stdout, worker.stderr])
    part.setEncoding('utf8').on('data', (text: string) => (output += text))
  if (stream.then === 'holds') void source.sent.then(() => worker.kill('SIGTERM'))
  const [code, signal] = (await once(worker, 'close')) as [number | null, string | null]
  return { dataDir, temporary, code, signal, output }
}

async function filesIn(at: string): Promise<Readonly<Record<string, Buffer>>> {
  const found = await readdir(at, { recursive: true, withFileTypes: true })
  const names = found.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name.slice(at.length + 1), await readFile(name)] as const)),
  )
}

async function expectLoaded(dataDir: string, isBare: boolean): Promise<void> {
  const { 'regent-loaded.json': note, ...files } = await filesIn(dataDir)
  expect(Object.keys(files).toSorted()).toEqual(Object.keys(tree).toSorted())
  for (const [name, content] of Object.entries(tree)) expect(files[name]?.equals(content), name).toBe(true)
  expect(JSON.parse(String(note)) as LoadedNote).toMatchObject({ task: 'load-1', isVerified: !isBare })
}

async function tryOne(source: FaultySource, at: string, one: Case): Promise<'loaded' | 'failed'> {
  const { stream, may } = one
  const { dataDir, temporary, code, signal, output } = await load(source, at, one)
  expect([signal, code === 0 || code === 1, await readdir(temporary)], output).toEqual([null, true, []])
  if (may !== 'either') expect(code, output).toBe(may === 'load' ? 0 : 1)
  if (code === 0) await expectLoaded(dataDir, stream.isBare === true)
  else {
    expect(output).toMatch(/REGENT_TASK_FAILED/)
    expect(output).toMatch(/task newReplica \(load-1\): dataLoad failed: \S/)
    expect(Object.keys(await filesIn(dataDir))).toEqual(['regent-load.partial/unfinished.txt'])
  }
  await expect.poll(() => source.connections).toBe(0)
  return code === 0 ? 'loaded' : 'failed'
}

it.each(seeds)(
  'Whatever a source answers, by %s, a worker loads every byte, or fails and leaves no folder that a server starts on',
  async (_what, seed) => {
    console.info(`seed ${seed}`)
    const made = fc.sample(fc.tuple(...kinds), { seed, numRuns: rounds }).flat()
    const cases = made.map((make) => make(dump))
    const outcomes = { loaded: 0, failed: 0 }
    const waiting = [...cases.entries()]
    await Promise.all(
      sources.map(async (source) => {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          const [index, one] = next
          const at = join(folder, `${seed}-${index}`)
          const outcome = await tryOne(source, at, one).catch((error: unknown) => {
            const { fault, places: writes, then: end } = one.stream
            throw new Error(`${one.name}: ${JSON.stringify({ seed, fault, writes, end })}`, { cause: error })
          })
          outcomes[outcome] += 1
          if (outcome === 'failed' && index % 6 === 0)
            expect(await tryOne(source, at, { name: 'again', may: 'load', stream: again(dump) })).toBe('loaded')
        }
      }),
    )
    console.info(`of ${cases.length} loads ${outcomes.loaded} succeeded, ${outcomes.failed} failed`)
    expect(outcomes.failed).toBeGreaterThan(rounds * 10)
  },
  300_000,
)

function again(tar: Buffer): FaultyStream {
  return { parts: [tar], fault: whole, places: [] }
}
