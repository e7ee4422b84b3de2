import { Sentence, type Part } from './sentence.ts'

/** Fixed words, or a kind with its texts. */
type SentPart = string | readonly string[]
type Spot = readonly [path: string, parts: readonly SentPart[]]

/**
 * JSON in which each sentence stands as its text, which any reader takes. Under `said` are its parts, by its place:
 * `notices/0/sentence`.
 */
export function withParts(message: object): string {
  const spots = sentencesIn(message, '')
  return JSON.stringify(spots.length === 0 ? message : { ...message, said: Object.fromEntries(spots) })
}

/** What `withParts` sent, with its sentences in their places. What an older sender sends has none, and stays text. */
export function withSentences<T extends object>({ said = {}, ...message }: T & { readonly said?: unknown }): T {
  for (const [path, parts] of Object.entries(said as Readonly<Record<string, readonly SentPart[]>>))
    put(message, path.split('/'), new Sentence(parts.map(partOf)))
  return message as unknown as T
}

function sentencesIn(value: unknown, path: string): readonly Spot[] {
  if (value instanceof Sentence) return [[path, value.parts.map(sentPart)]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => sentencesIn(one, path === '' ? name : `${path}/${name}`))
}

function put(value: object, [name = '', ...names]: readonly string[], sentence: Sentence): void {
  if (!Object.hasOwn(value, name)) return
  const there = (value as Record<string, unknown>)[name]
  if (names.length === 0 && typeof there === 'string') (value as Record<string, unknown>)[name] = sentence
  else if (typeof there === 'object' && there !== null) put(there, names, sentence)
}

function sentPart(part: Part): SentPart {
  if (part.kind === 'words') return part.text
  if (part.kind === 'command') return [part.kind, part.verb, ...part.args]
  return part.kind === 'text' ? [part.kind, part.text, part.tells] : [part.kind, part.text]
}

const plain: ReadonlySet<string> = new Set(['name', 'number', 'count', 'duration', 'time'])

/** A kind that only a newer sender knows is a text. */
function partOf(sent: SentPart): Part {
  if (typeof sent === 'string') return { kind: 'words', text: sent }
  const [kind = '', first = '', ...more] = sent
  if (kind === 'command') return { kind, verb: first, args: more } as Part
  return plain.has(kind) ? ({ kind, text: first } as Part) : { kind: 'text', text: first, tells: more[0] ?? '' }
}
