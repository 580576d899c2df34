//! Pieces made one after the other: each where it stands in the text before all of them, or else where those before it made its
//! old text. Which byte came from where is written down, so that a piece is never looked for in the wrong one of the two.

/// Where an old text may begin.
#[derive(Clone, Copy)]
pub(super) enum Begins {
    Anywhere,
    AtLines,
}

/// What a text becomes, if there is one place for every piece; `None` if not, or if no piece stands in what another made.
pub(super) fn made_in_turn(base: &str, pieces: &[(String, String)], begins: Begins) -> Option<String> {
    let mut so_far: Vec<(u8, Option<usize>)> = base.bytes().zip((0..).map(Some)).collect();
    let mut in_another = false;
    for (old, new) in pieces {
        let (head, tail) = same_lines(old, new);
        let at = match &places(base.as_bytes(), old.as_bytes(), begins)[..] {
            [] => {
                in_another = true;
                let bytes: Vec<u8> = so_far.iter().map(|(byte, _)| *byte).collect();
                match places(&bytes, old.as_bytes(), begins)[..] {
                    [only] => only,
                    _ => return None,
                }
            }
            [only] => {
                let changes = *only + head..*only + old.len() - tail;
                // What nobody changed yet stands there in one piece.
                let first = so_far.iter().position(|(_, from)| *from == Some(changes.start))?;
                let there = so_far.get(first..first + changes.len())?;
                if !there.iter().map(|(_, from)| *from).eq(changes.map(Some)) {
                    return None;
                }
                first.checked_sub(head)?
            }
            _ => return None,
        };
        let brought = new.as_bytes()[head..new.len() - tail].iter().map(|byte| (*byte, None));
        so_far.splice(at + head..at + old.len() - tail, brought);
    }
    let bytes = so_far.into_iter().map(|(byte, _)| byte).collect();
    String::from_utf8(bytes).ok().filter(|_| in_another)
}

fn places(text: &[u8], old: &[u8], begins: Begins) -> Vec<usize> {
    let may_begin = |at: usize| match begins {
        Begins::Anywhere => true,
        Begins::AtLines => at == 0 || text[at - 1] == b'\n',
    };
    let last = text.len().saturating_sub(old.len());
    (0..=last).filter(|at| text[*at..].starts_with(old) && may_begin(*at)).take(2).collect()
}

/// The lengths of the lines that both texts begin with, and of those that both end with.
fn same_lines(old: &str, new: &str) -> (usize, usize) {
    let alike = |pair: &(&str, &str)| pair.0 == pair.1;
    let lines = |text: &str| text.split_inclusive('\n').map(str::len).collect::<Vec<_>>();
    let head: usize =
        old.split_inclusive('\n').zip(new.split_inclusive('\n')).take_while(alike).map(|l| l.0.len()).sum();
    let (old, new) = (&old[head..], &new[head..]);
    let count = old.split_inclusive('\n').rev().zip(new.split_inclusive('\n').rev()).take_while(alike).count();
    (head, lines(old).into_iter().rev().take(count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_has_its_own_place() {
        let check = |base: &str, pieces: &[(&str, &str)], begins: Begins, made: Option<&str>| {
            let pieces: Vec<(String, String)> =
                pieces.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect();
            assert_eq!(made_in_turn(base, &pieces, begins).as_deref(), made, "{base:?} {pieces:?}");
        };
        let first = ("b\n", "x\ny\n");
        check("a\nb\nc\n", &[first, ("y\nc\n", "z\n")], Begins::AtLines, Some("a\nx\nz\n"));
        check("a\nb\nc\n", &[first, ("y\n", "")], Begins::AtLines, Some("a\nx\nc\n"));
        // Found in the base, though the first piece made it too.
        check("a\nb\ny\n", &[first, ("y\n", "z\n"), ("x\ny\n", "")], Begins::AtLines, Some("a\nz\n"));
        // Twice, nowhere, gone, and none in another.
        check("y\nb\ny\n", &[first, ("y\n", "z\n")], Begins::AtLines, None);
        check("a\nb\nc\n", &[first, ("q\n", "z\n")], Begins::AtLines, None);
        check("a\nb\nc\n", &[first, ("b\nc\n", "z\n")], Begins::AtLines, None);
        check("a\nb\nc\n", &[first, ("c\n", "z\n")], Begins::AtLines, None);
        check("a\nb\n", &[("b\n", "xy\n"), ("y\n", "z\n")], Begins::Anywhere, Some("a\nxz\n"));
        check("a\nb\n", &[("b\n", "xy\n"), ("y\n", "z\n")], Begins::AtLines, None);
    }
}
