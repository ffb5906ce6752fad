package notes;

import android.app.Activity;
import android.os.Bundle;
import android.widget.TextView;

/** Shows what the desk prints. */
public final class MainActivity extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        TextView text = new TextView(this);
        text.setText(Desk.work());
        setContentView(text);
    }
}
