import { clusterVerbs, instanceVerbs, type Place } from '#common/sentence/command.ts'

/** What no sentence may have, whatever values went into it, for tests: each pattern with what is wrong about it. */
const rules: readonly (readonly [RegExp, string])[] = [
  [/(?<![\d.])0 ms\b/, 'a duration that is no figure'],
  [
    /\b1 (transactions|instances|replicas|members|sessions|writes|tables|steps|pods|acknowledgements|automatic failovers|others|copies)\b/,
    'one thing in the plural',
  ],
  [
    /\b(0|[2-9]|\d\d+) (transaction|instance|replica|member|session|step|pod|acknowledgement)\b(?! set)/,
    'several things in the singular',
  ],
  [/undefined|\bNaN\b|\bnull\b|\[object|Infinity/, 'a value of the program'],
  [/ {2}|^ | $/, 'a blank too many'],
  [/\(\)|\(0\)|: ;|;;|: $|, ?;|,,/, 'nothing where something belongs'],
  [/\.$/, 'a dot at the end'],
  [/@volume|volume-\d/, 'a volume where an instance belongs'],
  [/shop-\d, shop-\d (is|does|has|lacks|was|alone holds)\b/, 'several names with a verb for one'],
  [
    /(^|[^,\w-] ?)\bshop-\d, shop-\d (are|do|have|lack|still hear|hear|must|hold)\b/,
    'a bare comma between two names that act together',
  ],
]

/** What is wrong with the wording of a sentence; empty where nothing is. */
export function faultsOf(sentence: string): readonly string[] {
  return rules.flatMap(([pattern, what]) => {
    const found = pattern.exec(sentence)
    return found === null ? [] : [`${what}: "${found[0]}"`]
  })
}

const verbs = [...clusterVerbs, ...instanceVerbs].join('|')
const onlyLocal = new RegExp(`(?<!kubectl )\\bregent (local|${verbs})\\b|docs/operations\\.md`)
const onlyKubernetes = /\bkubectl\b|\bSecret\b(?! or folder)|\bmysql\//

/** A command or a thing that is not there in that place; undefined where there is none. */
export function strangeIn(sentence: string, { kind }: Place): string | undefined {
  return (kind === 'local' ? onlyKubernetes : onlyLocal).exec(sentence)?.[0]
}

/** Words with which a sentence begins that tells late what it is about, or not at all. */
const lateBeginnings: readonly (readonly [RegExp, string])[] = [
  [/^(it|its|they|them|their|that|these|those|he|she|who|which)\b/i, 'a word that stands for something'],
  [/^there (is|are|was|were)\b/i, 'a beginning without a thing'],
  [/^(when|if|while|because|since|as|after|before|until|where|whether|how|why)\b/i, 'a clause before the thing'],
  [/^(and|or|but|so)\b/i, 'a word that joins'],
]

/** Why a sentence, by its key, does not begin with what it is about; empty where it does. */
export function beginningFaultsOf(key: string): readonly string[] {
  const late = lateBeginnings.flatMap(([pattern, what]) => (pattern.test(key) ? [what] : []))
  return late.length > 0 || isAboutSomething(key) ? late : ['no thing within the first three words']
}

/** `no action: …`, `switchover undone: …`, `failing over: …`: what is done is said first, and then of whom. */
const label = /^[\w() -]{1,40}: /
/** Names, figures and texts are things, and so is what an article or a number of things stands before. */
const thing =
  /‹|\b(the|a|an|this|each|all|no|none|nobody|neither|both|one|mysqld|read-only|primary|replication|call|request|scheme|\w+_\w+|[a-z]{3,}[^s]s)\b/

function isAboutSomething(key: string): boolean {
  const first = key
    .replace(/\b(failing|switching) over\b/, '$1-over')
    .split(' ')
    .slice(0, 3)
    .join(' ')
  return thing.test(first) || label.test(key)
}
