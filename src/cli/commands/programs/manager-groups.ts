/** Headings in the help of `regent manager`: which flags belong together. */
export const kubernetesGroup = 'On Kubernetes:'
export const localGroup = 'Of a local cluster:'
