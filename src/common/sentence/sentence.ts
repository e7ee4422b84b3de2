import * as words from '../text/words.ts'
import { localPlace, typedIn, type Command, type Place } from './command.ts'

/**
 * A sentence is made of parts: fixed words, and what changes. A name tells: the same sentence about another instance is
 * news. A figure moves all the time, and a text comes from outside (mysqld's words, a person's reason): neither is news
 * by itself, but for what such a text `tells`.
 */
export type Part =
  | { readonly kind: 'words' | 'name' | 'number' | 'count' | 'duration' | 'time'; readonly text: string }
  | { readonly kind: 'text'; readonly text: string; readonly tells: string }
  | CommandPart

export interface CommandPart extends Command {
  readonly kind: 'command'
}

/** A sentence, or nothing to say. */
export type Said = Sentence | ''

/** What an agent says: a bare text where the agent is of a version that sends no parts. */
export type Heard = Sentence | string

/** A bare string is a name, a bare number a figure. */
export type Sayable = Part | Sentence | string | number | bigint | null | undefined

/** What Regent says, as data until it is printed. */
export class Sentence {
  readonly parts: readonly Part[]

  constructor(parts: readonly Part[]) {
    this.parts = parts
  }

  /** Fixed words, with the kind of what changes: `‹name› lacks ‹count›`. The same for all that is said so. */
  get key(): string {
    return this.parts.map(keyOf).join('')
  }

  /** Two sentences are the same news where this is the same. */
  get news(): string {
    return this.parts.map(newsOf).join('')
  }

  /** The sentence says what to type. */
  get namesCommand(): boolean {
    return this.parts.some(({ kind }) => kind === 'command')
  }

  /** On one machine; `printed` knows other places. */
  toString(): string {
    return printed(this, localPlace)
  }

  toJSON(): string {
    return this.toString()
  }
}

/** `` say`${name} lacks ${counted(2, 'transaction')}` ``. A sentence within gives its parts. */
export function say(fixed: TemplateStringsArray, ...parts: readonly Sayable[]): Sentence {
  return new Sentence(fixed.flatMap((text, at) => [...wordsOf(text), ...partsOf(parts[at])]))
}

/** The parts one after the other; '' is left out. */
export function joined(all: readonly Sayable[], between: string): Said {
  const said = all.map(partsOf).filter((parts) => parts.length > 0)
  return said.length === 0
    ? ''
    : new Sentence(said.flatMap((parts, at) => [...wordsOf(at === 0 ? '' : between), ...parts]))
}

/** A list of sentences: `a`, `a and b`, `a, b and c`. */
export function together(all: readonly Sentence[]): Said {
  return all.length < 2 ? joined(all, '') : say`${joined(all.slice(0, -1), ', ')} and ${all.at(-1)}`
}

/** The same about things that have other names where the sentence is read. */
export function renamed({ parts }: Sentence, names: Readonly<Record<string, string>>): Sentence {
  return new Sentence(
    parts.map((part) => (part.kind === 'name' ? { ...part, text: names[part.text] ?? part.text } : part)),
  )
}

/** In the words of the place where the sentence is read: the one machine where none is given. */
export function printed(sentence: Sentence | string, place: Place = localPlace): string {
  if (typeof sentence === 'string') return sentence
  return sentence.parts.map((part) => (part.kind === 'command' ? typedIn(place, part) : part.text)).join('')
}

/** The same for readers who do not know the place: what is to be typed there is fixed words. */
export function typedFor({ parts }: Sentence, place: Place = localPlace): Sentence {
  return new Sentence(
    parts.map((part) => (part.kind === 'command' ? { kind: 'words', text: typedIn(place, part) } : part)),
  )
}

/** `2 replicas` */
export function counted(number: number, noun: string): Part {
  return { kind: 'count', text: words.counted(number, noun) }
}

/** `12.0 MiB` */
export function mebibytes(bytes: number): Part {
  return { kind: 'count', text: words.mebibytes(bytes) }
}

/** `none`, `1`, `2` */
export function noneOr(number: number): Part {
  return { kind: 'number', text: words.noneOr(number) }
}

/** `300 ms`, `45 s` */
export function duration(ms: number): Part {
  return { kind: 'duration', text: words.duration(ms) }
}

/** `for 300 ms`; `since just now` */
export function lasting(ms: number): Part {
  return { kind: 'duration', text: words.lasting(ms) }
}

/** A number that is written in another way than a number of the program. */
export function figure(text: string): Part {
  return { kind: 'number', text }
}

/** `00:21:39 UTC` */
export function time(text: string): Part {
  return { kind: 'time', text }
}

/** Words of somebody else: mysqld, the kernel, a person. */
export function text(words: string): Part {
  return { kind: 'text', text: words, tells: '' }
}

/** Words that came as text from an agent or with an error: the first three of them tell, and figures come behind. */
export function reported(words: string): Part {
  return { kind: 'text', text: words, tells: words.split(' ', 3).join(' ') }
}

/** What an agent says, as a sentence or a part of one. */
export function heard(said: Heard): Said {
  return typeof said === 'string' && said !== '' ? say`${reported(said)}` : said
}

/** Something to type, in the words of the place where the sentence is read. */
export function command(verb: Command['verb'], ...args: readonly string[]): CommandPart {
  return { kind: 'command', verb, args }
}

function wordsOf(text: string): readonly Part[] {
  return text === '' ? [] : [{ kind: 'words', text }]
}

function partsOf(part: Sayable): readonly Part[] {
  if (part === null || part === undefined || part === '') return []
  if (typeof part === 'string') return [{ kind: 'name', text: part }]
  if (typeof part === 'number' || typeof part === 'bigint') return [{ kind: 'number', text: String(part) }]
  return part instanceof Sentence ? part.parts : [part]
}

function keyOf(part: Part): string {
  if (part.kind === 'words') return part.text
  if (part.kind !== 'command') return `‹${part.kind}›`
  const args = part.args.map((arg) => (/^(--|<)/.test(arg) ? arg : '‹name›'))
  return typedIn(localPlace, { verb: part.verb, args })
}

function newsOf(part: Part): string {
  if (part.kind === 'words' || part.kind === 'name') return part.text
  if (part.kind === 'command') return typedIn(localPlace, part)
  return part.kind === 'text' ? part.tells : '#'
}
