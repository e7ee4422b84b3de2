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
