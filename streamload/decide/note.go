package decide

import "strings"

// Note says what a kind of trouble means and what to do, in the words of the class table; "" for none.
func (t Trouble) Note() string {
	for _, r := range classTable {
		if r.trouble == t && t != NoTrouble {
			return r.Note
		}
	}
	return ""
}

// Note says what an attempt that failed means and what to do, in the words of the row of the class table that it matches; "" when it matches none.
func (a Attempt) Note() string {
	if !a.HasAnswer {
		return a.Trouble.Note()
	}
	class := a.Class()
	said := strings.ToLower(a.Load.Status + "\n" + a.Load.Message + "\n" + a.Load.FirstError)
	for _, r := range classTable {
		byText := r.http == 0 && r.trouble == NoTrouble && strings.Contains(said, r.Pattern)
		byStatus := r.http != 0 && (r.http == a.HTTPStatus || r.code == a.Load.Status)
		if r.Class == class && (byText || byStatus) {
			return r.Note
		}
	}
	return ""
}
