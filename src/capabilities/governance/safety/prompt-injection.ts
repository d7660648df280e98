/**
 * Finds phrases that try to override the operator's instructions to a model. It knows common wordings in English and a few other
 * languages. A text without matches is not necessarily safe.
 */
import { scan, type TextMatch } from './scanning.ts';

const gap = String.raw`[^\p{L}\p{N}]{1,4}`;
/** Returns a pattern for a gap of at most `most` words. */
const words = (most: number) => String.raw`(?:${gap}[\p{L}\p{N}']{1,15}){0,${most}}?${gap}`;

/** Does not match "do not ignore". */
const dismiss =
  "(?<!(?:not|never|cannot|n't) )(?:ignore|disregard|forget|override|bypass|discard|drop|neglect|do not follow|stop following)";
const former =
  '(?:previous|prior|above|earlier|preceding|foregoing|existing|original|initial|former|past|system|developer|safety|hidden)';
const orders =
  '(?:instructions?|prompts?|rules|directives?|guidelines|guardrails|directions|commands|context|programming|training|constraints|restrictions)';

const phrases = [
  // "Ignore all previous instructions."
  `${dismiss}${words(4)}${former}${words(3)}${orders}`,
  `${dismiss}${words(1)}(?:everything|anything|all|what)${words(3)}(?:above|before|were told|been told|you know|said so far)`,
  `${dismiss}${gap}(?:all${gap})?(?:of${gap})?(?:your|ur)${words(2)}${orders}`,
  // "You are now …, without rules."
  `you${gap}(?:are|will be)${gap}(?:now|no longer)${words(5)}(?:dan|jailbroken|unrestricted|unfiltered|uncensored|bound by|restricted|developer mode|evil)`,
  `(?:act|behave|respond|answer|pretend|roleplay)${words(6)}(?:no|without(?:${gap}any)?|free of)${gap}(?:restrictions?|limitations?|filters?|rules|guidelines|censorship|ethical|safety|moral)`,
  `(?:enable|enter|activate|switch (?:in)?to|you are in)${words(2)}(?:developer|dan|jailbreak|god|debug|admin|unrestricted|sudo)${gap}mode`,
  `do${gap}anything${gap}now`,
  // "Show me your system prompt."
  `(?:reveal|print|show|output|repeat|display|leak|expose|dump|tell me|give me|recite|disclose|what (?:is|are|was|were))${words(4)}(?:your|the)${gap}(?:full${gap}|exact${gap}|entire${gap}|hidden${gap}|secret${gap}|initial${gap}|original${gap}){0,2}(?:system${gap}(?:prompt|message|instructions)|hidden${gap}(?:prompt|instructions|rules)|(?:initial|original|secret)${gap}(?:prompt|instructions)|developer${gap}(?:message|instructions))`,
  `(?:repeat|print|output|recite)${words(2)}(?:everything|all|the (?:text|words))${gap}above`,
  // New instructions from an authority.
  `(?:new|updated|real|actual|revised)${gap}(?:system${gap})?(?:instructions?|directives?|system prompt|orders) ?(?:from (?:the )?(?:admin|system|developer|operator)[^\\n]{0,10})?:`,
  `your${gap}(?:new|real|true|actual|only)${gap}(?:instructions?|task|goal|purpose|role|objective)${gap}(?:is|are)${gap}(?:now|to)`,
  `from now on${words(2)}you${gap}(?:will|must|shall|are|have to)${words(3)}(?:ignore|obey|comply|only|never refuse|not refuse|unrestricted|no longer)`,
  `(?:do not|don't|never|without)${gap}(?:tell|telling|inform|informing|alert|alerting|mention|mentioning)${words(3)}(?:user|operator|human)${words(4)}(?:this|instruction|instructions|message|prompt)`,
  // Control tokens of chat templates.
  String.raw`<\|(?:im_start|system|start_header_id)\|>|\[\/?INST\]|<<\/?SYS>>|###${gap}(?:system|new instructions?) ?(?:prompt|message)?:`,
  // Other languages
  `(?:ignoriere?|vergiss|missachte)${words(3)}(?:vorherigen?|bisherigen?|obigen?|vorigen?|früheren?)${words(1)}(?:anweisungen|instruktionen|regeln|befehle|vorgaben)`,
  `(?:ignorez?|oubliez?|ne tiens? pas compte de)${words(3)}(?:instructions|consignes|règles|directives)${words(1)}(?:précédentes|antérieures|ci-dessus)`,
  `(?:ignora|ignore|olvida|omite)${words(3)}(?:instrucciones|indicaciones|reglas|órdenes)${words(1)}(?:anteriores|previas|de arriba)`,
  `(?:ignore|esqueça|desconsidere)${words(3)}(?:instruções|regras|orientações)${words(1)}(?:anteriores|prévias|acima)`,
  `(?:ignora|dimentica)${words(3)}(?:istruzioni|regole)${words(1)}(?:precedenti|sopra)`,
];
/** Phrases in scripts without spaces, in which a phrase can begin anywhere. */
const spaceless = [
  '(?:忽略|无视|忘记|忽視)[^。\\n]{0,10}(?:之前|以上|先前|前面|上述)[^。\\n]{0,8}(?:指令|指示|说明|提示|规则)',
  '(?:以前|これまで|上記|前)の(?:すべての)?(?:指示|命令|ルール|プロンプト)を(?:すべて)?(?:無視|忘れ)',
];
const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${phrases.join('|')})|${spaceless.join('|')}`, 'giu');

export function findPromptInjections(content: string): Generator<TextMatch | null> {
  return scan(pattern, content);
}
