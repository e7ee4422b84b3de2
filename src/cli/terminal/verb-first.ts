/** Options that kubectl knows and every verb here takes. */
const withValue = /^(?:-n|-o|--(?:namespace|context|kubeconfig|manager-namespace|output))$/
const withValueInside = /^(?:-[no].|--(?:namespace|context|kubeconfig|manager-namespace|output)=)/

/**
 * kubectl's users write its options before the verb as well (`kubectl regent -n shops topology`); here they belong
 * behind it.
 */
export function verbFirst(argv: readonly string[]): readonly string[] {
  let at = 0
  for (let word = argv[at] ?? ''; withValue.test(word) || withValueInside.test(word); word = argv[at] ?? '')
    at += withValue.test(word) ? 2 : 1
  const verb = argv[at]
  return verb === undefined ? argv : [verb, ...argv.slice(0, at), ...argv.slice(at + 1)]
}
