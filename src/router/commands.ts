import { say, text, type Sentence } from '#common/sentence/sentence.ts'
import { gate, primarySlot } from './haproxy-state.ts'

/** A command that HAProxy did not carry out. */
export interface Refusal {
  readonly command: string
  /** First line of what HAProxy says; '' for no answer. */
  readonly words: string
}

/** Commands were refused: what HAProxy is now nobody knows. */
export interface Refused {
  readonly sentence: Sentence
  /** `go on`: nobody knows where to, and HAProxy does not even close the gate. */
  readonly writes: 'are led' | 'wait' | 'go on'
}

/** The runtime socket of an HAProxy. */
export interface Proxy {
  tell(commands: readonly string[]): Promise<string>
  /** HAProxy answers what it should not, again and again. */
  restart(): Promise<void>
}

/** What `set server … addr` says when it is done; also HAProxy 2.6. Every other command says nothing then. */
const done =
  /^(nothing changed|((, )?(no need to change the (addr|port)|(IP|port) changed from '[^']*' to '[^']*'))+( by '[^']*')?)$/

/** What was refused of commands in one line. HAProxy ends each answer by an empty line, and goes on after a refusal. */
export function refusalsIn(commands: readonly string[], answer: string): readonly Refusal[] {
  const answers = answersIn(answer)
  const refused = answers.flatMap((words, at) =>
    words === '' || done.test(words) ? [] : [{ command: commands[at] ?? commands.at(-1) ?? '', words }],
  )
  if (refused.length > 0 || answers.length === commands.length) return refused
  const missing = commands.slice(answers.length)
  return (missing.length > 0 ? missing : commands.slice(-1)).map((command) => ({ command, words: '' }))
}

/** The first line of each; '' for an empty one. */
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
 * Tells HAProxy one step after the other. Where a step is refused that sessions rest upon which write, they are shut:
 * they might be led to an old primary.
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

async function isShut(proxy: Pick<Proxy, 'tell'>): Promise<boolean> {
  const closing = [`set server ${gate} state maint`]
  if (refusalsIn(closing, await proxy.tell(closing)).length > 0) return false
  await proxy.tell([`shutdown sessions server ${primarySlot}`])
  return true
}

/** Sentences are short. */
const longestWords = 40

function refusedIn({ command, words }: Refusal): Sentence {
  return words === ''
    ? say`HAProxy does not answer "${text(command)}"`
    : say`HAProxy refuses "${text(command)}": ${text(words.slice(0, longestWords))}`
}
