import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { gate, primarySlot } from './haproxy-state.ts'

/** A command that HAProxy did not carry out. */
export interface Refusal {
  readonly command: string
  /** The first line of HAProxy's answer; '' for no answer. */
  readonly words: string
}

/** Commands were refused: nobody knows the state of HAProxy then. */
export interface Refused {
  readonly sentence: Sentence
  /** `go on`: sessions write, nobody knows where, and HAProxy does not even close the gate. */
  readonly writes: 'are led' | 'wait' | 'go on'
}

/** The runtime socket of an HAProxy. */
export interface Proxy {
  tell(commands: readonly string[]): Promise<string>
  /** Called where HAProxy gives a wrong answer again and again. */
  restart(): Promise<void>
}

/**
 * The answer to `set server … addr` that was carried out, also by HAProxy 2.6. Every other command gives no words then.
 */
const done =
  /^(nothing changed|((, )?(no need to change the (addr|port)|(IP|port) changed from '[^']*' to '[^']*'))+( by '[^']*')?)$/

/**
 * The commands of one line that were refused. HAProxy ends each answer by an empty line, and goes on after a refusal.
 */
export function refusalsIn(commands: readonly string[], answer: string): readonly Refusal[] {
  const answers = answersIn(answer)
  const refused = answers.flatMap((words, at) =>
    words === '' || done.test(words) ? [] : [{ command: commands[at] ?? commands.at(-1) ?? '', words }],
  )
  if (refused.length > 0 || answers.length === commands.length) return refused
  const missing = commands.slice(answers.length)
  return (missing.length > 0 ? missing : commands.slice(-1)).map((command) => ({ command, words: '' }))
}

/** The first line of each answer; '' for an empty answer. */
function answersIn(answer: string): readonly string[] {
  const answers: string[] = []
  let first: string | undefined
  for (const line of answer.split('\n').slice(0, -1)) {
    if (line !== '') first ??= line
    else {
      answers.push(first ?? '')
      first = undefined
    }
  }
  return first === undefined ? answers : [...answers, first]
}

/**
 * Tells HAProxy one step after the other. Where HAProxy refuses a step that sessions which write rest upon, these
 * sessions are shut: HAProxy might lead them to an old primary.
 */
export async function carryOut(
  proxy: Pick<Proxy, 'tell'>,
  steps: readonly (readonly string[])[],
): Promise<Refused | undefined> {
  const refused: Refusal[] = []
  for (const commands of steps) {
    refused.push(...refusalsIn(commands, await proxy.tell(commands)))
    const [ofWrites] = refused.filter(isOfWrites)
    if (ofWrites === undefined) continue
    return { sentence: say`sessions wait: ${refusedIn(ofWrites)}`, writes: (await isShut(proxy)) ? 'wait' : 'go on' }
  }
  const [first] = refused
  return first === undefined ? undefined : { sentence: refusedIn(first), writes: 'are led' }
}

function isOfWrites({ command }: Refusal): boolean {
  return !command.includes('server reads/')
}

/** An HAProxy that does not answer whether to close the gate may not have closed the gate. */
async function isShut(proxy: Pick<Proxy, 'tell'>): Promise<boolean> {
  const closing = [`set server ${gate} state maint`]
  const answer = await proxy.tell(closing).catch(() => '')
  if (refusalsIn(closing, answer).length > 0) return false
  await proxy.tell([`shutdown sessions server ${primarySlot}`]).catch(() => undefined)
  return true
}

/** A sentence stays short. */
const longestWords = 40

function refusedIn({ command, words }: Refusal): Sentence {
  return words === ''
    ? say`HAProxy does not answer "${text(command)}"`
    : say`HAProxy refuses "${text(command)}": ${text(words.slice(0, longestWords))}`
}
