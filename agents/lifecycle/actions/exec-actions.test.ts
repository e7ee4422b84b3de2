import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { bash, deadlinesOnce, saidBy, testingActions, timelessWorld } from '../testing.ts'
import type { Action } from '../wire/definitions.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const call = (action: Action, request: object = {}, parts = {}) =>
  testingActions([action], parts).desk.call({ action: action.name, ...request })

async function folderOf(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lifecycle-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** Whether a process runs; one that ended and was not waited for does not. */
function runs(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** The lines of a file, none where it is not there yet. */
function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}

describe('an exec action', () => {
  it('gives what its command writes to standard output, and nothing of standard error', async () => {
    const result = await call(bash('a', 'echo -n primary; echo noise >&2'))
    expect(result).toEqual({ ok: true, output: Buffer.from('primary') })
  })

  it('hands arguments over as they are, without a shell', async () => {
    const action = { name: 'a', exec: { command: ['printf', '%s|', "it's"], args: ['$HOME `id` "x"', 'é\n'] } }
    expect(saidBy(await call(action))).toBe('it\'s|$HOME `id` "x"|é\n|')
  })

  it('has the parameters in its environment, before those of the process', async () => {
    const script = 'echo "$KB_ACCOUNT_NAME|$ONLY_HERE|$KB_ACCOUNT_STATEMENT"'
    const parameters = { KB_ACCOUNT_NAME: 'from the call', KB_ACCOUNT_STATEMENT: 'CREATE USER \'x\' "y" $z `w`\n;' }
    const environment = { PATH: process.env['PATH'] ?? '', KB_ACCOUNT_NAME: 'from the pod', ONLY_HERE: 'pod' }
    expect(saidBy(await call(bash('a', script), { parameters }, { environment }))).toBe(
      'from the call|pod|CREATE USER \'x\' "y" $z `w`\n;\n',
    )
  })

  it('reads nothing: its standard input is empty', async () => {
    expect(saidBy(await call(bash('a', 'cat; echo end')))).toBe('end\n')
  })

  it('may open its own standard output and error by name, as under a shell', async () => {
    const script = 'echo one; echo two > /dev/stdout; echo three | tee /dev/stderr; exit 5'
    expect(saidBy(await call(bash('a', script)))).toBe('exit code: 5, stderr: three\n: failed')
    expect(saidBy(await call(bash('a', script.replace('exit 5', 'echo > /dev/stderr'))))).toBe('one\ntwo\nthree\n')
  })

  it('fails with the exit code and standard error', async () => {
    expect(await call(bash('a', 'echo part; echo -n xxx >&2; exit 1'))).toEqual({
      ok: false,
      error: 'failed',
      message: 'exit code: 1, stderr: xxx: failed',
    })
  })

  it.each([
    [bash('a', 'exit 3'), 'exit code: 3: failed'],
    [bash('a', 'kill -SEGV $$'), 'exit code: -1 (SIGSEGV): failed'],
    [
      { name: 'a', exec: { command: ['/does/not/exist'] } },
      /^failed to start command: \/does\/not\/exist does not exist/,
    ],
    [
      { name: 'a', exec: { command: ['/etc/passwd'] } },
      'failed to start command: /etc/passwd may not be executed: failed',
    ],
    [{ name: 'a', exec: { command: ['echo', 'a\0b'] } }, /^failed to start command: .*null bytes.*: failed$/],
  ])('fails with a sentence: %j', async (action, message) => {
    expect(await call(action)).toMatchObject({
      ok: false,
      error: 'failed',
      message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
    })
  })

  it('is killed with everything that it started when its time is over', async () => {
    const file = join(await folderOf(), 'pids')
    const script = `sleep 60 & echo $! > ${file}; bash -c 'sleep 60 & echo $! >> ${file}; wait' & wait`
    const world = deadlinesOnce(() => linesOf(file).length === 2)
    const before = Date.now()
    expect(await call(bash('a', script, { timeoutSeconds: 1 }), {}, { world })).toEqual({
      ok: false,
      error: 'timedOut',
      message: 'timedOut',
    })
    expectBelow(3_000, Date.now() - before)
    const pids = linesOf(file).map(Number)
    expect(pids).toHaveLength(2)
    await expect.poll(() => pids.filter(runs)).toEqual([])
  })

  it('tells at its end what it had complained of', async () => {
    const file = join(await folderOf(), 'waits')
    const action = bash('a', `echo -n waiting >&2; echo >${file}; sleep 60`, { timeoutSeconds: 1 })
    const world = deadlinesOnce(() => linesOf(file).length === 1)
    expect(saidBy(await call(action, {}, { world }))).toBe('waiting: timedOut')
  })

  it('takes the seconds of the request before its own', async () => {
    const action = bash('a', 'sleep 60', { timeoutSeconds: 50 })
    expect(await call(action, { timeoutSeconds: 1 })).toMatchObject({ error: 'timedOut' })
  })

  it('has the default where its request says 0 seconds, whatever its own are', async () => {
    const action = bash('a', 'sleep 1.3; echo -n slow', { timeoutSeconds: 1 })
    expect(saidBy(await call(action, { timeoutSeconds: 0 }))).toBe('slow')
  })

  it('waits for what it left behind while that holds the output open, and says so at the end of its time', async () => {
    expect(saidBy(await call(bash('a', '(sleep 0.2; echo late) & echo early')))).toBe('early\nlate\n')
    const file = join(await folderOf(), 'pid')
    const action = bash('a', `echo $$ >${file}; sleep 60 & echo early`, { timeoutSeconds: 1 })
    const world = deadlinesOnce(() => linesOf(file).length === 1 && !runs(Number(linesOf(file)[0])))
    expect(saidBy(await call(action, {}, { world }))).toBe(
      'the command ended, and a process that it left behind held its output open until it was killed: timedOut',
    )
  })

  it('is not held up by a process that fled into a session of its own', async () => {
    const file = join(await folderOf(), 'pid')
    const script = `setsid bash -c 'echo $$ > ${file}; exec sleep 30' & wait`
    const world = deadlinesOnce(() => linesOf(file).length === 1)
    const before = Date.now()
    expect(await call(bash('a', script, { timeoutSeconds: 1 }), {}, { world })).toMatchObject({ error: 'timedOut' })
    expectBelow(3_000, Date.now() - before)
    process.kill(Number(linesOf(file)[0]), 'SIGKILL')
  })

  it('is killed when it writes more than is allowed, and says what to do', async () => {
    const result = await call(bash('a', 'yes'), {}, { outputBytes: 10_000 })
    expect(result).toMatchObject({ ok: false, error: 'failed' })
    expect(saidBy(result)).toMatch(/more than 10000 bytes .*--max-output: failed$/)
    expect(await call(bash('a', 'head -c 10000 /dev/zero'), {}, { outputBytes: 10_000 })).toMatchObject({ ok: true })
  })

  it('keeps the end of a long complaint', async () => {
    const message = saidBy(await call(bash('a', 'head -c 200000 /dev/zero | tr "\\0" x >&2; echo -n end >&2; exit 3')))
    expect(message).toMatch(/^exit code: 3, stderr: \(134467 bytes left out\) x+end: failed$/)
    expect(message.length).toBeLessThan(66_000)
  })

  it('runs once for each list of arguments, and stops at the first failure', async () => {
    const action = { name: 'a', exec: { command: ['bash', '-c', 'echo "$0$*"; [ "$0" != x ]'] } }
    expect(saidBy(await call(action, { arguments: [['a', 'b'], ['c']] }))).toBe('ab\nc\n')
    expect(await call(action, { arguments: [['a'], ['x'], ['c']] })).toMatchObject({ error: 'failed' })
    expect(saidBy(await call(action, { arguments: [] }))).toBe('bash\n')
  })

  it('repeats the run that failed, and none that went well before', async () => {
    const file = join(await folderOf(), 'runs')
    const script = `echo "$1" >> ${file}; [ "$1" != b ] || [ $(grep -c b ${file}) -ge 3 ] || exit 1; echo "$1"`
    const action = { name: 'a', exec: { command: ['bash', '-c', script, 'bash'] }, retryPolicy: { maxRetries: 2 } }
    expect(saidBy(await call(action, { arguments: [['a'], ['b'], ['c']] }))).toBe('a\nb\nc\n')
    expect((await readFile(file, 'utf8')).split('\n')).toEqual(['a', 'b', 'b', 'b', 'c', ''])
  })

  it('gives each run its own time, where somebody waits for the call', async () => {
    const action = { name: 'a', exec: { command: ['bash', '-c', 'sleep 0.1; echo "$0"'] }, timeoutSeconds: 5 }
    const { clock } = realWorld
    const world = { ...timelessWorld(), clock }
    expect(saidBy(await call(action, { arguments: [['a'], ['b']] }, { world }))).toBe('a\nb\n')
    expect(world.deadlines).toEqual([5_000, 5_000])
  })

  it('ends as timedOut where the time of a call that nobody waits for ends in a pause between two tries', async () => {
    const retryPolicy = { maxRetries: 3, retryInterval: 5_000_000_000 }
    const action = bash('a', 'exit 3', { timeoutSeconds: 1, retryPolicy, nonBlocking: true })
    const { desk } = testingActions([action], { world: timelessWorld() })
    expect(saidBy(await desk.call({ action: 'a' }))).toBe('inProgress')
    await expect
      .poll(async () => saidBy(await desk.call({ action: 'a' })))
      .toBe('exit code: 3: failed, and its time ends before the next try: timedOut')
  })

  it('starts no run that has no time left', async () => {
    const file = join(await folderOf(), 'runs')
    const script = `echo "$1" >> ${file}; exec sleep 60`
    const action: Action = {
      name: 'a',
      exec: { command: ['bash', '-c', script, 'bash'] },
      ...{ timeoutSeconds: 1, nonBlocking: true, retryPolicy: { maxRetries: 5 } },
    }
    const { desk } = testingActions([action], { world: deadlinesOnce(() => linesOf(file).length > 0) })
    const request = { action: 'a', arguments: [['a'], ['b']] }
    await desk.call(request)
    await expect.poll(async () => saidBy(await desk.call(request))).toBe('timedOut')
    expect(await readFile(file, 'utf8')).toBe('a\n')
  })

  it('is tried as often as its policy says, with a pause between', async () => {
    const file = join(await folderOf(), 'tries')
    const retryPolicy = { maxRetries: 2, retryInterval: 100_000_000 }
    const script = `echo try >> ${file}; [ $(wc -l < ${file}) -ge 3 ] && echo done`
    const before = Date.now()
    expect(saidBy(await call(bash('a', script, { retryPolicy })))).toBe('done\n')
    expect(Date.now() - before).toBeGreaterThanOrEqual(200)
    await writeFile(file, '')
    expect(await call(bash('a', script, { retryPolicy }), { retryPolicy: { maxRetries: 1 } })).toMatchObject({
      error: 'failed',
    })
  })

  it('is killed when the agent stops, and is not tried again', async () => {
    const { desk, kill, groups } = testingActions([bash('a', 'sleep 60', { retryPolicy: { maxRetries: 9 } })])
    const answer = desk.call({ action: 'a' })
    await expect.poll(() => groups.running).toBe(1)
    kill()
    expect(await answer).toEqual({ ok: false, error: 'failed', message: 'the agent is stopping: failed' })
    expect(groups.running).toBe(0)
  })

  it('leaves no process, zombie or file behind after hundreds of calls at once', async () => {
    const actions = [
      bash('good', 'echo -n ok'),
      bash('bad', 'exit 1'),
      bash('slow', 'sleep 60 & sleep 60', { timeoutSeconds: 1 }),
      { name: 'missing', exec: { command: ['/missing'] } },
    ]
    const { desk, groups } = testingActions(actions)
    const files: number[] = []
    for (let round = 0; round < 3; round += 1) {
      const calls = Array.from({ length: 120 }, (_, at) => desk.call({ action: actions[at % 4]?.name ?? '' }))
      const results = await Promise.all(calls)
      expect(results.map((result) => (result.ok ? 'ok' : result.error))).toEqual(
        Array.from({ length: 30 }, () => ['ok', 'failed', 'timedOut', 'failed']).flat(),
      )
      files.push(filesOpen())
    }
    expect(groups.running).toBe(0)
    await expect.poll(() => childrenOf(process.pid)).toEqual([])
    expect(files[2]).toBeLessThanOrEqual((files[0] ?? 0) + 2)
  })
})

function filesOpen(): number {
  return readdirSync('/proc/self/fd').length
}

/** Commands that this process is the parent of, ended ones too. */
function childrenOf(pid: number): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const [, command = '', , parent] =
          /^\d+ \((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'latin1')) ?? []
        return Number(parent) === pid && /bash|sleep/.test(command) ? [`${name} ${command}`] : []
      } catch {
        return []
      }
    })
}
