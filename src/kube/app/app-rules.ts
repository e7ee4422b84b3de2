import type { Rule } from '../spec/schema-words.ts'
import { appLabel } from './app.ts'

/** Rules about a whole App. A Service without a name of its own has that of the App. */
export const appRules: readonly Rule[] = [
  {
    rule:
      '(has(self.spec.service.name) ? self.spec.service.name : self.metadata.name) == ' +
      '(has(oldSelf.spec.service.name) ? oldSelf.spec.service.name : oldSelf.metadata.name)',
    message: 'spec.service.name cannot change: clients know the old one; make another App',
  },
  {
    rule: `!('${appLabel}' in self.spec.podLabels)`,
    message: `spec.podLabels has ${appLabel}, which is Regent’s; leave it out`,
  },
]
