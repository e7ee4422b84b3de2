import { say, text, type Sentence } from '#common/sentence/sentence.ts'

/** @param words mysqld's own, of the settings that it does not take */
export function refusesSettings(instance: string, words: string): Sentence {
  return say`mysqld of ${instance} refuses its settings: ${text(words)}`
}
